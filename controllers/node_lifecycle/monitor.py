"""One pass over all nodes, every few seconds and whenever a node comes, goes or changes its readiness.

Announces nodes, writes down who has fallen silent, taints NoExecute as fast as the zones allow, and marks the pods
of silent nodes not ready. There is one key, the cluster: what a zone may do depends on all of its nodes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial

import structlog

from controllers.batches import at_once
from controllers.node_lifecycle.health import ready_condition
from controllers.node_lifecycle.pods import PodMarker
from controllers.node_lifecycle.settings import Settings
from controllers.node_lifecycle.silence import Checked, Silence, checked
from controllers.node_lifecycle.tainter import Tainter
from controllers.node_lifecycle.taints import NO_EXECUTE_TAINTS, has_any, no_execute_changes, no_schedule_changes
from controllers.node_lifecycle.zones import Zones, counts, zone_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of, uid_of
from kubeloop.apimachinery.tolerations import TaintId
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import RequeueAfter, Result

log = structlog.get_logger(__name__)

CLUSTER = ObjectKey("", "cluster")
# A pass looks at every node: when thousands come one after the other, each must not cause one of its own.
_PAUSE_SECONDS_A_NODE = 0.0005


class Monitor:
    """Only one pass runs at a time: the only key is CLUSTER."""

    def __init__(
        self,
        clock: Clock,
        nodes: Informer,
        silence: Silence,
        tainter: Tainter,
        pods: PodMarker,
        recorder: EventRecorder,
        settings: Settings,
    ) -> None:
        self._clock, self._nodes, self._silence, self._tainter = clock, nodes, silence, tainter
        self._pods, self._recorder, self._settings = pods, recorder, settings
        self._zones = Zones(settings)
        self._known: dict[str, Object] = {}  # who has been announced, as seen in the last pass
        self._waiting: dict[str, None] = {}  # who waits for a NoExecute taint, first come first served
        self._unmarked: set[str] = set()  # nodes whose pods are yet to be marked not ready
        self._next_pass_at = 0.0  # monotonic

    async def reconcile(self, key: ObjectKey) -> Result:
        now = self._clock.monotonic()
        if now < self._next_pass_at:
            return RequeueAfter(self._next_pass_at - now)
        nodes = self._nodes.list()
        self._next_pass_at = now + _PAUSE_SECONDS_A_NODE * len(nodes)
        await self._announce(nodes)
        checks = await self._check(nodes)
        self._update_zones(checks)
        await self._taint(checks)
        await self._mark_pods(checks)
        return RequeueAfter(self._seconds_to_next_pass())

    async def _announce(self, nodes: Sequence[Object]) -> None:
        present = {name_of(node): node for node in nodes}
        for name, known in list(self._known.items()):
            if name not in present or uid_of(present[name]) != uid_of(known):
                await self._tell(known, "RemovingNode", f"Removing Node {name} from Controller")
                self._forget(name)
        for name, node in present.items():
            if name not in self._known:
                await self._tell(node, "RegisteredNode", f"Registered Node {name} in Controller")
                await self._register(node)
        self._known = present

    async def _register(self, node: Object) -> None:
        """What an earlier run of this loop left unfinished is taken up; a node that never reported is not evicted."""
        ready = ready_condition(node)
        if ready is None:
            await self._try([partial(self._tainter.swap, node, (), NO_EXECUTE_TAINTS)], "untaint")
        elif ready.get("status") != "True":
            self._unmarked.add(name_of(node))

    async def _check(self, nodes: Sequence[Object]) -> list[Checked]:
        """Each node as it is now; those that could not be written are left out of this pass."""
        overdue = [node for node in nodes if self._silence.is_overdue(node)]
        checks = {name_of(node): checked(node) for node in nodes}

        async def mark(node: Object) -> None:
            self._unmarked.add(name_of(node))  # also where the answer is lost: the next pass sees what was written
            del checks[name_of(node)]
            checks[name_of(node)] = await self._silence.mark(node)

        await self._try([partial(mark, node) for node in overdue], "mark as silent")
        for check in checks.values():
            if check.was_ready and check.ready != "True":
                message = f"Node {name_of(check.node)} status is now: NodeNotReady"
                await self._recorder.event(_reference(check.node), "Normal", "NodeNotReady", message)
                self._unmarked.add(name_of(check.node))
        return list(checks.values())

    def _update_zones(self, checks: Collection[Checked]) -> None:
        ready: dict[tuple[str, str], list[bool]] = {}
        zones, seen = set(), set()
        for check in checks:
            zone = zone_of(check.node)
            zones.add(zone)
            seen.add(id(check.node))
            if counts(check.node):
                ready.setdefault(zone, []).append(check.ready == "True")
        zones |= {zone_of(node) for node in self._known.values() if id(node) not in seen}  # left out, or just written
        was_down = self._zones.is_cluster_down
        self._zones.update(zones, ready, self._clock.monotonic())
        if was_down and not self._zones.is_cluster_down:
            log.info("some nodes are ready again: evictions go on")
            self._silence.start_over()
        elif self._zones.is_cluster_down and not was_down:
            log.warning("no node is ready: evictions stop")

    async def _taint(self, checks: Iterable[Checked]) -> None:
        """A taint that contradicts the node's state is exchanged at once; a new one waits for its zone's limit."""
        swaps, waiting = [], {}
        for node, ready, _ in checks:
            if ready is None:
                continue
            added, removed = no_execute_changes("True" if self._zones.is_cluster_down else ready)
            if has_any(node, removed):
                swaps.append(partial(self._swap, node, added, removed))
            elif added and not has_any(node, added):
                waiting[name_of(node)] = node, added, removed
        self._waiting = {name: None for name in (*self._waiting, *waiting) if name in waiting}
        for name in list(self._waiting):
            node, added, removed = waiting[name]
            if self._zones.limit(zone_of(node)).take(self._clock.monotonic()):
                del self._waiting[name]
                swaps.append(partial(self._swap, node, added, removed))
        await self._try(swaps, "taint")

    async def _swap(self, node: Object, added: Sequence[TaintId], removed: Collection[TaintId]) -> None:
        """Together with the node's NoSchedule taints, which stand before those that evict."""
        also_added, also_removed = no_schedule_changes(node)
        await self._tainter.swap(node, [*also_added, *added], {*also_removed, *removed})

    async def _mark_pods(self, checks: Iterable[Checked]) -> None:
        for node, ready, _ in checks:
            if name_of(node) in self._unmarked and (ready == "True" or await self._pods.mark_all(name_of(node))):
                self._unmarked.discard(name_of(node))

    def _seconds_to_next_pass(self) -> float:
        now, period = self._clock.monotonic(), self._settings.monitor_seconds
        zones = {zone_of(self._known[name]) for name in self._waiting if name in self._known}
        return max(0.001, min((period, *(self._zones.limit(zone).free_at - now for zone in zones))))

    async def _try(self, attempts: Sequence[Callable[[], Awaitable[object]]], what: str) -> None:
        """What fails is tried again in the next pass; a node that is gone needs nothing."""
        for error in await at_once(attempts):
            if not isinstance(error, NotFound):
                log.warning(f"could not {what} a node", error=str(error))

    async def _tell(self, node: Object, reason: str, what: str) -> None:
        message = f"Node {name_of(node)} event: {what}"
        await self._recorder.event(_reference(node), "Normal", reason, message)

    def _forget(self, name: str) -> None:
        del self._known[name]
        self._silence.forget(name)
        self._unmarked.discard(name)
        self._waiting.pop(name, None)


def _reference(node: Object) -> Object:
    """Events about nodes name no resourceVersion."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name_of(node), "uid": uid_of(node)}}
