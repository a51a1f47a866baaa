"""The images that each node has pulled: what is there is not pulled again, and shows in the node's `status.images`.

Semantics: pkg/kubelet/images/image_gc_manager.go and nodestatus/setters.go (v1.36). A list that has changed goes with
the next status that its node writes anyway, or with one of its own after a while: ten seconds in a small cluster,
longer with many nodes, so that all nodes together write ten a second. After a restart of this process the list is read
from the node's status and from the pods that run there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field

from kubelet_sim import image_volumes, images
from kubelet_sim.state import FIELDS, STATUS_FIELDS, PodRuntime, PodSpec, Pull, State
from kubelet_sim.usage import STORAGE
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.quantity import parse
from kubeloop.client.informer import Informer

MAX_REPORTED = 50  # nodeStatusMaxImages
MAX_UNUSED = 250  # on a node whose disk would hold more

# imageGCHighThresholdPercent and imageGCLowThresholdPercent, of the node's local storage.
_HIGH_SHARE, _LOW_SHARE = 0.85, 0.8
_LEAST_SECONDS, _MOST_SECONDS = 10.0, 300.0  # nodeStatusUpdateFrequency and nodeStatusReportFrequency
_SECONDS_A_NODE = 0.1
_PULLED_BEFORE = frozenset(State) - {
    State.WAITING,
    State.PULLING,
    State.PULL_FAILED,
    State.PULL_BACKOFF,
    State.IMAGE_ERROR,
}


@dataclass(slots=True)
class _Store:
    """Of one node. `sizes`: image -> bytes, the least recently used first; `names` are its keys."""

    sizes: dict[str, int] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    due: float | None = None  # when the list is to be written at the latest; None: it is as it was written

    def add(self, reference: str) -> None:
        self.sizes[reference] = images.size_bytes(reference)


class NodeImages:
    """Images by their whole names (images.reference). `own`: the nodes of this process. `report`: have a node looked at
    in so many seconds.
    """

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        pods: Informer,
        nodes: Informer,
        own: Sized,
        report: Callable[[str, float], None],
    ) -> None:
        self._clock, self._rng, self._pods, self._nodes = clock, rng, pods, nodes
        self._own, self._report = own, report
        self._stores: dict[str, _Store] = {}
        pods.index_field("spec.nodeName")

    def on(self, node: str) -> frozenset[str]:
        """What the node has; the same object until that changes."""
        store = self._store(node)
        return store.names if store else frozenset()

    def bytes_on(self, node: str) -> int:
        """What they take there together."""
        store = self._store(node)
        return sum(store.sizes.values()) if store else 0

    def add(self, node: str, references: Iterable[str]) -> None:
        """They have been pulled. Makes room where the disk fills up."""
        store = self._store(node)
        new = [] if store is None else [one for one in references if one not in store.sizes]
        if store is None or not new:
            return
        for one in new:
            store.add(one)
        self._collect(node, store)
        self._changed(node, store)

    def release(self, pod: ReadOnlyObject) -> None:
        """The pod has gone: until now its images were in use."""
        store = self._stores.get(pod["spec"]["nodeName"])
        for one in _of_spec(pod) if store else ():
            if store and one in store.sizes:
                store.sizes[one] = store.sizes.pop(one)

    def forget(self, node: str) -> None:
        """It is played no longer, or anew."""
        self._stores.pop(node, None)

    # --- what the node says

    def is_due(self, node: str) -> bool:
        """Whether the list has waited long enough for another reason to write the status."""
        store = self._stores.get(node)
        return store is not None and store.due is not None and store.due <= self._clock.monotonic()

    def changed_status(self, node: ReadOnlyObject) -> Object:
        """`images` of its status as they are to be written, or nothing where they are written already."""
        store = self._stores.get(node["metadata"]["name"])
        if store is None:
            return {}
        listed = [{"names": images.names(one), "sizeBytes": size} for one, size in _largest(store)]
        return {} if listed == ((node.get("status") or {}).get("images") or []) else {"images": listed}

    def reported(self, node: ReadOnlyObject) -> None:
        """The status has been written; `node` as it was answered. What has been pulled meanwhile is written later."""
        name = node["metadata"]["name"]
        store = self._stores.get(name)
        if store is not None:
            store.due = None
            if self.changed_status(node):
                self._changed(name, store)

    # --- keeping

    def _store(self, node: str) -> _Store | None:
        """None while nothing is known of the node."""
        return self._stores.get(node) or self._recover(node)

    def _recover(self, name: str) -> _Store | None:
        node = self._nodes.get(ObjectKey("", name))
        if node is None:
            return None
        store = self._stores[name] = _Store()
        listed = (node.get("status") or {}).get("images") or ()
        for one in (*_readable(listed), *self._in_use(name, _of_status)):
            store.add(one)
        store.names = frozenset(store.sizes)
        if self.changed_status(node):
            self._changed(name, store)
        return store

    def _changed(self, node: str, store: _Store) -> None:
        store.names = frozenset(store.sizes)
        if store.due is None:
            period = min(max(_LEAST_SECONDS, len(self._own) * _SECONDS_A_NODE), _MOST_SECONDS)
            seconds = period * (0.5 + self._rng.random())
            store.due = self._clock.monotonic() + seconds
            self._report(node, seconds)

    def _collect(self, node: str, store: _Store) -> None:
        """What was used the longest time ago goes first, and nothing that a pod there uses."""
        capacity = ((self._nodes.get(ObjectKey("", node)) or {}).get("status") or {}).get("capacity") or {}
        whole = parse(str(capacity.get(STORAGE, "0"))).value()
        is_full = whole and sum(store.sizes.values()) >= whole * _HIGH_SHARE
        if not is_full and len(store.sizes) <= MAX_UNUSED:
            return
        in_use = set(self._in_use(node, _of_spec))
        unused = [one for one in store.sizes if one not in in_use]
        excess = sum(store.sizes.values()) - whole * _LOW_SHARE if is_full else 0
        for number, one in enumerate(unused):
            if excess <= 0 and len(unused) - number <= MAX_UNUSED:
                return
            excess -= store.sizes.pop(one)

    def _in_use(self, node: str, of_pod: Callable[[ReadOnlyObject], Iterator[str]]) -> Iterator[str]:
        for pod in self._pods.by_index("spec.nodeName", node):
            yield from of_pod(pod)


def pulled(pod: PodSpec, runtime: PodRuntime) -> Iterator[str]:
    """The images that the pod's node has to have by now. Nobody looks at those of what is real."""
    for spec, container in zip(pod.containers, runtime.containers, strict=False):
        image = container.image or (container.run.image if container.run else "")
        if container.state in _PULLED_BEFORE and image and not spec.is_real:
            yield images.reference(image)
    for one in runtime.volume_images:
        if one.pull is Pull.DONE:
            yield images.reference(one.reference)


def _largest(store: _Store) -> list[tuple[str, int]]:
    return sorted(store.sizes.items(), key=lambda one: (-one[1], one[0]))[:MAX_REPORTED]


def _readable(listed: Iterable[ReadOnlyObject]) -> Iterator[str]:
    """The images in the status of a node."""
    for one in listed:
        names = [name for name in one.get("names") or () if not images.name_error(name)]
        if names:
            yield images.reference(names[0])


def _of_spec(pod: ReadOnlyObject) -> Iterator[str]:
    spec = pod["spec"]
    for containers in dict.fromkeys(FIELDS.values()):
        for one in spec.get(containers) or ():
            yield images.reference(one.get("image") or "")
    yield from map(images.reference, image_volumes.references(pod))


def _of_status(pod: ReadOnlyObject) -> Iterator[str]:
    """Of those containers that have run, and of the volumes that were there for them."""
    status = pod.get("status") or {}
    for statuses in dict.fromkeys(STATUS_FIELDS.values()):
        for one in status.get(statuses) or ():
            if one.get("imageID"):
                yield images.reference(one["image"])
                yield from map(images.reference, image_volumes.references(pod))
