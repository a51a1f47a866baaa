"""Registers the nodes and keeps their statuses fresh: one key a node, reconciled when it changes or its beat is due.

A node that was deleted is not registered again before a restart, as with a real kubelet. Leases are in leases.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kubelet_sim import node_object
from kubelet_sim.attachments import Attachments
from kubelet_sim.faults.registry import Faults
from kubelet_sim.node_images import NodeImages
from kubelet_sim.node_object import PRESSURE_REASONS, NodeIdentity
from kubelet_sim.settings import Settings
from kubelet_sim.stages import surroundings
from kubelet_sim.stages.staging import Staging
from kubelet_sim.stages.template import Functions
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition, is_true
from kubeloop.apimachinery.csi import MANAGED_ATTACHING
from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, annotations_of, uid_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

REPORT_SECONDS = 300.0  # nodeStatusReportFrequency: how often an unchanged status is written
_REPORT_JITTER = 0.5  # upstream draws the first report from half to one and a half of it, too

Recorders = Callable[[str], EventRecorder]  # of a node


class NodeReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        informer: Informer,
        recorders: Recorders,
        attachments: Attachments,
        pressures: Callable[[str], Collection[str]],
        images: NodeImages,
        faults: Faults,
        staging: Staging,
        nodes: Mapping[str, NodeIdentity],
        settings: Settings,
    ) -> None:
        self._api, self._clock, self._rng, self._informer = api, clock, rng, informer
        self._recorders, self._attachments, self._pressures = recorders, attachments, pressures
        self._images, self._faults = images, faults
        self._staging, self._stages = staging, staging.nodes
        self._nodes, self._settings = nodes, settings
        self._registered: dict[str, str] = {}  # node -> the uid its object had; holds every node seen once
        self._is_cordoned: dict[str, bool] = {}
        self._boots: dict[str, str] = {}  # node -> the id of its last reboot that was told

    async def reconcile(self, key: ObjectKey) -> Result:
        identity = self._nodes.get(key.name)
        if identity is None:
            self._images.forget(key.name)
            return DONE  # there are fewer nodes now
        if self._faults.is_cut_off(key.name):
            return DONE  # woken when that is over
        if key.name not in self._registered:
            return await self._register(identity)
        node = self._informer.get(key)
        if node is None:
            return DONE  # deleted, or not in the informer yet
        await self._tell_cordoning(node)
        if self._stages.takes(node):
            return await self._play(identity, node)
        self._stages.forget(key)
        await self._leave_attaching(node)
        return await self._report(identity, node)

    def forget(self, node: str) -> None:
        """It is to be registered (again)."""
        self._registered.pop(node, None)
        self._stages.forget(ObjectKey("", node))
        self._images.forget(node)

    async def _play(self, identity: NodeIdentity, node: ReadOnlyObject) -> Result:
        """A node that is given over to stages says of itself what they say; its lease is renewed all the same."""
        recorder = self._recorders(identity.name)
        return await self._stages.play(node, recorder, lambda: self._functions(identity), lambda answer: None)

    def _functions(self, identity: NodeIdentity) -> Functions:
        """Of the templates of stages."""
        of_node = surroundings.of_node(identity.name, identity.address, self._settings.kubelet_port)
        return self._staging.surroundings.functions(of_node)

    async def _register(self, identity: NodeIdentity) -> Result:
        wanted = node_object.registration(identity, self._settings, self._clock.now())
        if self._stages.takes(wanted):
            del wanted["status"]["conditions"]  # how it is, its stages will say
        try:
            node = await self._api.create(NODES, wanted)
        except AlreadyExists:
            node = await self._adopt(identity)
        self._registered[identity.name] = uid_of(node)
        self._is_cordoned[identity.name] = bool((node.get("spec") or {}).get("unschedulable"))
        await self._tell(node, "Starting", "Starting kubelet.")
        return self._next_report()

    async def _adopt(self, identity: NodeIdentity) -> Object:
        """Of a node that is there already its labels and its status are brought up to date."""
        node = await self._api.get(NODES, identity.name)
        patch = node_object.missing_labels(node, identity, self._settings, self._clock.now())
        if patch is not None:
            node = await self._api.patch(NODES, identity.name, patch)
        if not self._stages.takes(node):
            await self._write(identity, node)
        return node

    async def _report(self, identity: NodeIdentity, node: ReadOnlyObject) -> Result:
        now = self._clock.now()
        wanted = self._status(identity, node)
        ready = next((c for c in conditions_of(node) if c["type"] == "Ready"), {})
        beat = ready.get("lastHeartbeatTime")
        is_due = not beat or (now - parse_time(beat)).total_seconds() >= REPORT_SECONDS * (1 - _REPORT_JITTER)
        if is_due or self._images.is_due(identity.name) or node_object.is_changed(node, wanted):
            await self._write(identity, node)
        return self._next_report()

    async def _leave_attaching(self, node: ReadOnlyObject) -> None:
        """To the control plane, from the first volume on that needs it: nodes without such volumes look plainer."""
        name = node["metadata"]["name"]
        if self._attachments.in_use(name) and MANAGED_ATTACHING not in annotations_of(node):
            await self._api.patch(NODES, name, {"metadata": {"annotations": {MANAGED_ATTACHING: "true"}}})

    async def _write(self, identity: NodeIdentity, node: ReadOnlyObject) -> None:
        wanted = self._status(identity, node)
        patch = {"metadata": {"uid": uid_of(node)}, "status": wanted | self._images.changed_status(node)}
        try:
            answer = await self._api.patch(NODES, identity.name, patch, patch_type=STRATEGIC, subresource="status")
        except NotFound:
            return
        self._images.reported(answer)
        await self._tell_reboot(node, wanted["nodeInfo"]["bootID"])
        for reason in _changed_pressures(conditions_of(node), wanted["conditions"]):
            await self._tell(node, reason, f"Node {identity.name} status is now: {reason}")
        if not is_true(conditions_of(node), "Ready"):
            await self._tell(node, "NodeReady", f"Node {identity.name} status is now: NodeReady")

    def _status(self, identity: NodeIdentity, node: ReadOnlyObject) -> Object:
        current, pressures = conditions_of(node), self._pressures(identity.name)
        wanted = node_object.status(identity, self._settings, current, self._clock.now(), pressures)
        rebooted_at = self._faults.rebooted_at(identity.name)
        known = "" if rebooted_at else node_object.boot_id_of(node)  # also of a reboot before this process began
        wanted["nodeInfo"]["bootID"] = known or node_object.boot_id(identity, rebooted_at)
        return {**wanted, "volumesInUse": self._attachments.in_use(identity.name) or None}

    async def _tell_reboot(self, node: ReadOnlyObject, boot_id: str) -> None:
        """Once for each, though the informer may be behind."""
        name, known = node["metadata"]["name"], node_object.boot_id_of(node)
        if known in ("", boot_id) or self._boots.get(name) == boot_id:
            return
        self._boots[name] = boot_id
        await self._tell(node, "Starting", "Starting kubelet.")
        await self._tell(node, "Rebooted", f"Node {name} has been rebooted, boot id: {boot_id}", "Warning")

    async def _tell_cordoning(self, node: ReadOnlyObject) -> None:
        name, is_cordoned = node["metadata"]["name"], bool((node.get("spec") or {}).get("unschedulable"))
        if self._is_cordoned[name] != is_cordoned:
            self._is_cordoned[name] = is_cordoned
            reason = "NodeNotSchedulable" if is_cordoned else "NodeSchedulable"
            await self._tell(node, reason, f"Node {name} status is now: {reason}")

    async def _tell(self, node: ReadOnlyObject, reason: str, message: str, event_type: str = "Normal") -> None:
        """A kubelet's events name its node by name alone: they lie in the namespace default."""
        name = node["metadata"]["name"]
        about = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "uid": name}}
        await self._recorders(name).event(about, event_type, reason, message)

    def _next_report(self) -> Result:
        share = 1 - _REPORT_JITTER * self._rng.random()
        return RequeueAfter(REPORT_SECONDS * share)


def _changed_pressures(before: Sequence[Condition], after: Sequence[Condition]) -> Iterator[str]:
    """What is to be told of them; a node without conditions is new and tells nothing."""
    for condition in after:
        known = get_condition(before, condition["type"])
        reason = PRESSURE_REASONS.get((condition["type"], condition["status"]))
        if known and reason and known.get("status") != condition["status"]:
            yield reason
