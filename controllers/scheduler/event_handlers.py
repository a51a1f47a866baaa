"""From informer changes to the cache (what is placed) and the queue (what waits).

The pod informer leaves out pods that have ended, so an ended pod looks deleted: it holds nothing any more.
"""

from __future__ import annotations

from collections.abc import Collection

from controllers.scheduler.cache import Cache
from controllers.scheduler.events import (
    ADD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DELETE,
    DEVICE_CLASS,
    NAMESPACE,
    NODE_ADD,
    NODE_DELETE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    UPDATE,
    VOLUME_ATTACHMENT,
    ClusterEvent,
    followed_pod_update_events,
    node_update_events,
    pod_update_events,
)
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.queue import SchedulingQueue
from controllers.scheduler.waiting_pods import WaitingPods
from kubeloop.apimachinery.meta import ReadOnlyObject, is_being_deleted, name_of, resource_version_of, uid_of
from kubeloop.apimachinery.resource import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DEVICE_CLASSES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)
from kubeloop.client.store import Delta

NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"

# Where the other events come from; an informer is started only for those that a plugin registered.
EVENT_SOURCES: dict[str, Resource] = {
    NAMESPACE: NAMESPACES,
    PERSISTENT_VOLUME: PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIM: PERSISTENT_VOLUME_CLAIMS,
    STORAGE_CLASS: STORAGE_CLASSES,
    CSI_NODE: CSI_NODES,
    CSI_DRIVER: CSI_DRIVERS,
    CSI_STORAGE_CAPACITY: CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENT: VOLUME_ATTACHMENTS,
    RESOURCE_CLAIM: RESOURCE_CLAIMS,
    RESOURCE_SLICE: RESOURCE_SLICES,
    DEVICE_CLASS: DEVICE_CLASSES,
}


class EventHandlers:
    """`scheduler_names`: the profiles; pods of other schedulers count where they run, and are else left alone."""

    def __init__(
        self, cache: Cache, queue: SchedulingQueue, waiting: WaitingPods, scheduler_names: Collection[str]
    ) -> None:
        self._cache, self._queue, self._waiting = cache, queue, waiting
        self._scheduler_names = frozenset(scheduler_names)

    def on_node(self, delta: Delta) -> None:
        old, new = delta
        if new is None:
            self._queue.move_all(NODE_DELETE, old, None)
            self._cache.remove_node(name_of(delta.obj))
            return
        events = [NODE_ADD] if old is None else node_update_events(old, new)
        if old is None or events or _told_by_no_event(old) != _told_by_no_event(new):
            self._cache.set_node(new)
        for event in events:
            self._queue.move_all(event, old, new)

    def on_pod(self, delta: Delta) -> None:
        old, new = delta
        if old is not None and new is not None and uid_of(old) != uid_of(new):
            self.on_pod(Delta(old, None))  # deleted and made anew while nobody watched
            self.on_pod(Delta(None, new))
            return
        if new is None:
            self._on_pod_gone(delta.obj)
        elif _is_placed(new):
            self._on_placed_pod(old, new)
        elif self._is_ours(new):
            self._on_waiting_pod(old, new)

    def on_other(self, resource: str, delta: Delta) -> None:
        """Something that a plugin registered for."""
        action = ADD if delta.old is None else DELETE if delta.new is None else UPDATE
        self._queue.move_all(ClusterEvent(resource, action), delta.old, delta.new)

    def _on_placed_pod(self, old: ReadOnlyObject | None, new: ReadOnlyObject) -> None:
        known = self._cache.get_pod(uid_of(new))
        is_of_old = known is not None and known.pod is old
        is_followed = self._cache.follow_pod(new)
        if not is_followed:
            self._cache.add_pod(PodInfo(new))
        if old is not None and _is_placed(old):
            events = followed_pod_update_events if is_followed and is_of_old else pod_update_events
            for event in events(old, new):
                self._queue.move_all(event, old, new)
            return
        if old is not None and self._is_ours(old):
            self._queue.delete(uid_of(old))
        self._queue.move_all(ASSIGNED_POD_ADD, None, new)

    def _on_waiting_pod(self, old: ReadOnlyObject | None, new: ReadOnlyObject) -> None:
        pod = PodInfo(new)
        if old is None:
            if not self._cache.is_assumed(pod.uid):
                self._queue.add(pod)
            return
        if resource_version_of(old) == resource_version_of(new):
            return
        if self._cache.is_assumed(pod.uid):
            if is_being_deleted(new) and not is_being_deleted(old):
                self._give_up_assumed(pod.uid)
            return
        before = PodInfo(old)
        self._queue.update(before, pod)
        if before.nominated_node_name and before.nominated_node_name != pod.nominated_node_name:
            self._free_promised_room(before)

    def _on_pod_gone(self, old: ReadOnlyObject) -> None:
        uid = uid_of(old)
        if _is_placed(old):
            self._cache.remove_pod(uid)
            self._queue.move_all(ASSIGNED_POD_DELETE, old, None)
            return
        if not self._is_ours(old):
            return
        self._queue.delete(uid)
        pod = PodInfo(old)
        if self._cache.is_assumed(uid):
            self._give_up_assumed(uid)
        elif pod.nominated_node_name:
            self._free_promised_room(pod)

    def _give_up_assumed(self, uid: str) -> None:
        """It was to be bound, and is deleted before: its room is free for others."""
        assumed = self._cache.get_pod(uid)
        if not self._waiting.reject(uid, "removed", plugin=""):
            self._cache.forget_pod(uid)
        self._queue.move_all(ASSIGNED_POD_DELETE, assumed.pod if assumed else None, None)

    def _free_promised_room(self, pod: PodInfo) -> None:
        """A promise ended: pods that are not more important had been kept out by it."""
        self._queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None, lambda other: other.priority <= pod.priority)

    def _is_ours(self, pod: ReadOnlyObject) -> bool:
        return (pod.get("spec") or {}).get("schedulerName", "default-scheduler") in self._scheduler_names


def _is_placed(pod: ReadOnlyObject) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName"))


def _told_by_no_event(node: ReadOnlyObject) -> object:
    """What matters of a node though no pod waits for it: its images, and that it was cordoned."""
    images = (node.get("status") or {}).get("images") or []
    return images, bool((node.get("spec") or {}).get("unschedulable"))
