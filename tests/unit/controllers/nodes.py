"""The least that pods need to come and go: a loop that makes them ready at once and removes them when deleted."""

from __future__ import annotations

from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import ObjectKey, is_being_deleted, labels_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For

# A pod with this label never becomes ready.
BROKEN = "broken"


def add_to(manager: Manager) -> None:
    pods = manager.informer(PODS)
    manager.add(Controller("nodes", Nodes(manager.api, manager, pods), [For(pods)], workers=10))


class Nodes:
    def __init__(self, api: Api, manager: Manager, pods: Informer) -> None:
        self._api, self._manager, self._pods = api, manager, pods
        self._addresses = 0

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None:
            return DONE
        try:
            if is_being_deleted(pod):
                await self._api.delete(PODS, key.name, key.namespace, grace_period_seconds=0, uid=uid_of(pod))
            elif pod["status"]["phase"] == "Pending" and BROKEN not in labels_of(pod):
                await self._run(key)
        except (NotFound, Conflict):
            pass
        return DONE

    async def _run(self, key: ObjectKey) -> None:
        self._addresses += 1
        address = f"10.0.{self._addresses // 250}.{self._addresses % 250 + 1}"
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_time(self._manager.clock.now())}
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]}
        await self._api.patch(PODS, key.name, {"status": status}, key.namespace, subresource="status")
