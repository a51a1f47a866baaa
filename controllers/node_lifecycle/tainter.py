"""Writing taints: one patch that fails where somebody else changed the node meanwhile, then once more on fresh data.

`spec.taints` is an atomic list: without the resourceVersion a patch would undo what another client just wrote.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from controllers.node_lifecycle.taints import changed
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, resource_version_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.apimachinery.times import format_time
from kubeloop.apimachinery.tolerations import TaintId, taints_of
from kubeloop.client.api import Api

_ATTEMPTS = 5


class Tainter:
    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock

    async def swap(self, node: ReadOnlyObject, added: Sequence[TaintId], removed: Collection[TaintId]) -> None:
        """Raises Conflict where others are faster again and again, NotFound where the node is gone."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            taints = changed(taints_of(node), added, removed, format_time(self._clock.now()))
            if taints is None:
                return
            patch = {"metadata": {"resourceVersion": resource_version_of(node)}, "spec": {"taints": taints or None}}
            try:
                await self._api.patch(NODES, name_of(node), patch)
                return
            except Conflict:
                if not attempts_left:
                    raise
            node = await self._api.get(NODES, name_of(node))
