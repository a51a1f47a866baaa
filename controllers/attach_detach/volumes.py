"""One reconcile of a volume: first it is taken from nodes that no longer need it, then given to those that do.

What is attached where is read from the VolumeAttachments, which outlive the loop; what was told is remembered only
here, so a restarted loop may tell it once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from controllers.attach_detach import model
from controllers.attach_detach.world import World, volume_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.csi import attachment_name, csi_source, unique_volume_name
from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, name_of, uid_of
from kubeloop.apimachinery.resource import VOLUME_ATTACHMENTS
from kubeloop.apimachinery.times import seconds_since
from kubeloop.client.api import Api
from kubeloop.client.store import Delta
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

Users = Mapping[str, Sequence[Object]]  # node -> the pods on it that need the volume

_BEING_DELETED = "volume attachment is being deleted"


@dataclass(slots=True)
class Memory:
    """Of one volume, for as long as it is attached or needed somewhere."""

    created: set[str] = field(default_factory=set)  # nodes whose VolumeAttachment the cache does not show yet
    unneeded_since: dict[str, float] = field(default_factory=dict)  # node -> when it stopped needing the volume
    told: dict[str, str] = field(default_factory=dict)  # node -> the last word about it


class VolumeReconciler:
    """Keys are PersistentVolumes. `report` has a node told again what is attached to it."""

    def __init__(
        self, api: Api, world: World, recorder: EventRecorder, clock: Clock, report: Callable[[str], None]
    ) -> None:
        self._api, self._world, self._recorder, self._clock, self._report = api, world, recorder, clock, report
        self._memories: dict[str, Memory] = {}
        world.attachments.add_handler(self._seen)

    async def reconcile(self, key: ObjectKey) -> Result:
        volume = self._world.volume(key.name)
        attachments = self._world.attachments_of(key.name)
        users = self._world.users(volume) if volume is not None else {}
        if not attachments and not users:
            self._memories.pop(key.name, None)
            return DONE
        memory = self._memories.setdefault(key.name, Memory())
        memory.told = {node: word for node, word in memory.told.items() if node in users}
        waits = [
            await self._detach(volume, attachment, memory)
            for node, attachment in attachments.items()
            if node not in users
        ]
        if volume is not None:
            for node in users:
                self._keep(volume, node, memory)
                waits.append(await self._attach(volume, node, users, attachments, memory))
        due = [seconds for seconds in waits if seconds is not None]
        return RequeueAfter(min(due)) if due else DONE

    # -- detaching ------------------------------------------------------------------------------------------------

    async def _detach(self, volume: Object | None, attachment: Object, memory: Memory) -> float | None:
        """The seconds after which to look again; None where something will tell."""
        if is_being_deleted(attachment):
            return None
        node_name = attachment["spec"]["nodeName"]
        node = self._world.node(node_name)
        if node is not None and volume is not None and model.is_managed(node):
            unique = unique_volume_name(volume)
            since = memory.unneeded_since.setdefault(node_name, self._clock.monotonic())
            waited = self._clock.monotonic() - since
            if unique in model.names_in_use(node) and not model.is_forced(node, waited):
                return max(model.MAX_UNMOUNT_WAIT_SECONDS - waited, 0) + 1 if not model.is_healthy(node) else None
            self._world.releasing.add(name_of(attachment))
            if unique in model.names_attached(node):
                self._report(node_name)
                return None  # the node's change tells
        try:
            await self._api.delete(VOLUME_ATTACHMENTS, name_of(attachment), uid=uid_of(attachment))
        except NotFound:
            return None
        return None

    def _keep(self, volume: Object, node: str, memory: Memory) -> None:
        """It is needed again before it was taken away."""
        memory.unneeded_since.pop(node, None)
        if (name := attachment_name(volume, node)) in self._world.releasing:
            self._world.releasing.discard(name)
            self._report(node)

    # -- attaching ------------------------------------------------------------------------------------------------

    async def _attach(
        self, volume: Object, node: str, users: Users, attachments: Mapping[str, Object], memory: Memory
    ) -> float | None:
        attachment = attachments.get(node)
        if attachment is not None:
            return await self._follow(volume, attachment, users[node], memory)
        elsewhere = [other for other in {*attachments, *memory.created} if other != node]
        if model.is_exclusive(volume) and elsewhere:
            if any(self._stays(attachments.get(other), other, users) for other in elsewhere):
                await self._tell_conflict(volume, node, users, elsewhere, memory)
            return None
        if node not in memory.created:
            await self._create(volume, node, memory)
        return None

    async def _create(self, volume: Object, node: str, memory: Memory) -> None:
        spec = {
            "attacher": (csi_source(volume) or {})["driver"],
            "nodeName": node,
            "source": {"persistentVolumeName": name_of(volume)},
        }
        memory.created.add(node)
        try:
            await self._api.create(
                VOLUME_ATTACHMENTS, {"metadata": {"name": attachment_name(volume, node)}, "spec": spec}
            )
        except AlreadyExists:
            return
        except BaseException:
            memory.created.discard(node)
            raise

    async def _follow(self, volume: Object, attachment: Object, pods: Sequence[Object], memory: Memory) -> float | None:
        """Tell what became of it."""
        node, status = attachment["spec"]["nodeName"], attachment.get("status") or {}
        if is_being_deleted(attachment):
            await self._tell_failure(volume, node, pods, _BEING_DELETED, memory)
            return None
        if status.get("attached"):
            self._report(node)
            attached = model.names_attached(self._world.node(node) or {})
            if memory.told.get(node) != "" and unique_volume_name(volume) not in attached:
                message = f'AttachVolume.Attach succeeded for volume "{name_of(volume)}" '
                await self._tell(pods, "Normal", "SuccessfulAttachVolume", message)
            memory.told[node] = ""
            return None
        if error := (status.get("attachError") or {}).get("message"):
            await self._tell_failure(volume, node, pods, error, memory)
            return None
        age = seconds_since(attachment["metadata"]["creationTimestamp"], self._clock.now())
        if age < model.ATTACH_TIMEOUT_SECONDS:
            return model.ATTACH_TIMEOUT_SECONDS - age + 1
        source = csi_source(volume) or {}
        why = (
            f"timed out waiting for external-attacher of {source.get('driver')} CSI driver "
            f"to attach volume {source.get('volumeHandle')}"
        )
        await self._tell_failure(volume, node, pods, why, memory)
        return None

    def _stays(self, attachment: Object | None, node: str, users: Users) -> bool:
        """Whether the volume is on that node for good, and not about to leave it."""
        if node in users or attachment is None:
            return True
        return not is_being_deleted(attachment) and name_of(attachment) not in self._world.releasing

    async def _tell_conflict(
        self, volume: Object, node: str, users: Users, elsewhere: Sequence[str], memory: Memory
    ) -> None:
        if memory.told.get(node) == "Multi-Attach":
            return
        memory.told[node] = "Multi-Attach"
        others = [pod for other in elsewhere for pod in users.get(other, ())]
        for pod in users[node]:
            message = model.multi_attach_error(volume, pod, others)
            await self._recorder.event(pod, "Warning", "FailedAttachVolume", message)

    async def _tell_failure(self, volume: Object, node: str, pods: Sequence[Object], why: str, memory: Memory) -> None:
        if memory.told.get(node) != why:
            memory.told[node] = why
            message = f'AttachVolume.Attach failed for volume "{name_of(volume)}" : {why}'
            await self._tell(pods, "Warning", "FailedAttachVolume", message)

    async def _tell(self, pods: Sequence[ReadOnlyObject], event_type: str, reason: str, message: str) -> None:
        for pod in pods:
            await self._recorder.event(pod, event_type, reason, message)

    def _seen(self, delta: Delta) -> None:
        """The cache has caught up with what was created; what is gone is released no more."""
        node = delta.obj["spec"]["nodeName"]
        if (memory := self._memories.get(volume_of(delta.obj))) is not None:
            memory.created.discard(node)
        if delta.new is None:
            self._world.releasing.discard(name_of(delta.obj))
            self._report(node)
