"""What each node is told of its volumes: `status.volumesAttached`, by which a kubelet knows what it may mount."""

from __future__ import annotations

from controllers.attach_detach import model
from controllers.attach_detach.world import World
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, uid_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api
from kubeloop.runtime.result import DONE, Result


class NodeReconciler:
    """Keys are nodes."""

    def __init__(self, api: Api, world: World) -> None:
        self._api, self._world = api, world

    async def reconcile(self, key: ObjectKey) -> Result:
        node = self._world.node(key.name)
        if node is None or not model.is_managed(node):
            return DONE
        wanted = self._world.reported(key.name)
        if wanted == model.names_attached(node):
            return DONE
        attached = [{"name": name, "devicePath": ""} for name in wanted] or None
        patch = {"metadata": {"uid": uid_of(node)}, "status": {"volumesAttached": attached}}
        try:
            await self._api.patch(NODES, key.name, patch, subresource="status")
        except NotFound:
            return DONE
        return DONE
