"""NodeInfo: a node and the pods on it, added up in plain ints.

The cache owns one NodeInfo a node and changes it as pods come and go; a Snapshot holds copies that stay as they are
while a pod is scheduled. `generation` says which of two is newer.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import Any

from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amounts, is_scalar
from kubeloop.apimachinery.host_ports import ANY_ADDRESS
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.tolerations import KEEPS_AWAY, PREFER_NO_SCHEDULE, Taint

_generations = count(1)  # shared by all caches of the process: only the order of one cache's numbers means anything


class NodeInfo:
    """Invariant: every sum below is that of `pods`."""

    __slots__ = (
        "allocatable_cpu",
        "allocatable_ephemeral",
        "allocatable_memory",
        "allocatable_scalars",
        "allowed_pods",
        "claims",
        "generation",
        "images",
        "is_unschedulable",
        "labels",
        "name",
        "node",
        "non_zero_cpu",
        "non_zero_memory",
        "pods",
        "pods_with_affinity",
        "pods_with_anti_affinity",
        "position",
        "repelling_taints",
        "requested_cpu",
        "requested_ephemeral",
        "requested_memory",
        "requested_scalars",
        "unwelcoming_taints",
        "used_ports",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: ReadOnlyObject | None = None  # None: pods are known, the node is not (yet, or no more)
        self.labels: Mapping[str, str] = {}
        self.is_unschedulable = False
        self.repelling_taints: Sequence[Taint] = ()  # NoSchedule and NoExecute
        self.unwelcoming_taints: Sequence[Taint] = ()  # PreferNoSchedule
        self.images: Mapping[str, int] = {}  # every name of every image on the node: its size in bytes
        self.allocatable_cpu = self.allocatable_memory = self.allocatable_ephemeral = self.allowed_pods = 0
        self.allocatable_scalars: Mapping[str, int] = {}

        self.pods: dict[str, PodInfo] = {}  # by uid, as are the two below
        self.pods_with_affinity: dict[str, PodInfo] = {}
        self.pods_with_anti_affinity: dict[str, PodInfo] = {}
        self.requested_cpu = self.requested_memory = self.requested_ephemeral = 0
        self.requested_scalars: dict[str, int] = {}
        self.non_zero_cpu = self.non_zero_memory = 0
        self.used_ports: dict[tuple[str, int], dict[str, int]] = {}  # (protocol, port): address: how many pods
        self.claims: dict[ObjectKey, int] = {}  # PersistentVolumeClaims: how many pods use them
        self.position = 0  # in the snapshot it belongs to
        self.generation = next(_generations)

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, {len(self.pods)} pods)"

    def set_node(self, node: ReadOnlyObject) -> None:
        spec, status = node.get("spec") or {}, node.get("status") or {}
        taints: Sequence[Taint] = spec.get("taints") or ()
        allocatable = amounts(status.get("allocatable"))
        self.node = node
        self.name = name_of(node)
        self.labels = labels_of(node)
        self.is_unschedulable = bool(spec.get("unschedulable"))
        self.repelling_taints = [taint for taint in taints if taint.get("effect") in KEEPS_AWAY]
        self.unwelcoming_taints = [taint for taint in taints if taint.get("effect") == PREFER_NO_SCHEDULE]
        self.images = {
            name: image.get("sizeBytes") or 0
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        }
        self.allocatable_cpu = allocatable.get(CPU, 0)
        self.allocatable_memory = allocatable.get(MEMORY, 0)
        self.allocatable_ephemeral = allocatable.get(EPHEMERAL_STORAGE, 0)
        self.allowed_pods = allocatable.get(PODS, 0)
        self.allocatable_scalars = {name: amount for name, amount in allocatable.items() if is_scalar(name)}
        self._changed()

    def remove_node(self) -> None:
        """The node is gone; what is known of its pods stays until they go too."""
        self.node = None
        self._changed()

    def add_pod(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        if pod.has_pod_affinity:
            self.pods_with_affinity[pod.uid] = pod
        if pod.required_anti_affinity:
            self.pods_with_anti_affinity[pod.uid] = pod
        self._count(pod, 1)

    def remove_pod(self, uid: str) -> None:
        """KeyError if it is not there."""
        pod = self.pods.pop(uid)
        self.pods_with_affinity.pop(uid, None)
        self.pods_with_anti_affinity.pop(uid, None)
        self._count(pod, -1)

    def has_port_conflict(self, address: str, protocol: str, port: int) -> bool:
        """Whether a pod here has that host port on that address; 0.0.0.0 stands for every address."""
        addresses = self.used_ports.get((protocol, port))
        if not addresses:
            return False
        return address == ANY_ADDRESS or address in addresses or ANY_ADDRESS in addresses

    def copy(self) -> NodeInfo:
        """The same state, from now on its own."""
        clone = NodeInfo.__new__(NodeInfo)
        for field in _SHARED:
            setattr(clone, field, getattr(self, field))
        for field in _OWNED:
            setattr(clone, field, getattr(self, field).copy())
        clone.used_ports = {port: dict(addresses) for port, addresses in self.used_ports.items()}
        return clone

    def _count(self, pod: PodInfo, sign: int) -> None:
        self.requested_cpu += sign * pod.cpu
        self.requested_memory += sign * pod.memory
        self.requested_ephemeral += sign * pod.ephemeral_storage
        for name, asked in pod.scalars.items():
            self.requested_scalars[name] = self.requested_scalars.get(name, 0) + sign * asked
        self.non_zero_cpu += sign * pod.non_zero_cpu
        self.non_zero_memory += sign * pod.non_zero_memory
        for address, protocol, port in pod.host_ports:
            _tally(self.used_ports.setdefault((protocol, port), {}), address, sign)
        for claim in pod.claim_keys:
            _tally(self.claims, claim, sign)
        self._changed()

    def _changed(self) -> None:
        self.generation = next(_generations)


_OWNED = ("pods", "pods_with_affinity", "pods_with_anti_affinity", "requested_scalars", "claims")
_SHARED = tuple(field for field in NodeInfo.__slots__ if field not in (*_OWNED, "used_ports"))


def _tally(counts: dict[Any, int], key: Hashable, change: int) -> None:
    """Keeps only what is above zero."""
    counts[key] = counts.get(key, 0) + change
    if counts[key] <= 0:
        del counts[key]
