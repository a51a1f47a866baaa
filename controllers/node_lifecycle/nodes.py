"""Taints and labels of one node: NoSchedule taints by its conditions, beta labels beside the stable ones."""

from __future__ import annotations

from controllers.node_lifecycle.labels import beta_labels
from controllers.node_lifecycle.tainter import Tainter
from controllers.node_lifecycle.taints import no_schedule_changes
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, Result


class NodeReconciler:
    """Keys are nodes."""

    def __init__(self, api: Api, nodes: Informer, tainter: Tainter) -> None:
        self._api, self._nodes, self._tainter = api, nodes, tainter

    async def reconcile(self, key: ObjectKey) -> Result:
        node = self._nodes.get(key)
        if node is None:
            return DONE
        try:
            await self._tainter.swap(node, *no_schedule_changes(node))
            await self._label(node)
        except NotFound:
            pass  # deleted meanwhile
        return DONE

    async def _label(self, node: ReadOnlyObject) -> None:
        labels = beta_labels(labels_of(node))
        if labels:
            await self._api.patch(NODES, name_of(node), {"metadata": {"labels": labels}})
