"""PodInfo: a pod as the scheduler reads it, worked out once when the pod is first seen.

Plugins read these fields instead of the object's JSON: the filter loop asks thousands of times a second. They never
change: a pod that changed in one of them gets a new PodInfo. `pod` is the object itself, in its latest version.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

from controllers.scheduler.affinity_terms import AffinityTerm, WeightedTerm, required_terms, weighted_terms
from controllers.scheduler.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    is_scalar,
    non_zero_requests,
    pod_requests,
    request_status,
)
from kubeloop.apimachinery.host_ports import host_ports_of
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, is_being_deleted, key_of, labels_of, uid_of
from kubeloop.apimachinery.node_affinity import (
    PreferredTerm,
    RequiredNodeAffinity,
    preferred_terms,
    required_node_affinity,
)

_likenesses = count(1)
TOPOLOGY_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")  # that a binding copies


@lru_cache(maxsize=4096)
def _likeness(namespace: str, labels: tuple[tuple[str, str], ...], is_being_deleted: bool) -> int:
    """A number that pods have in common only if no selector tells them apart; it is cheaper to look up than labels."""
    return next(_likenesses)


class Size(NamedTuple):
    """What a pod asks for: equal where two ask for the same."""

    cpu: int
    memory: int
    ephemeral_storage: int
    scalars: tuple[tuple[str, int], ...]
    non_zero_cpu: int
    non_zero_memory: int


def size_of(pod: ReadOnlyObject) -> Size:
    requests = pod_requests(pod)
    scalars = tuple((name, asked) for name, asked in requests.items() if is_scalar(name))
    cpu, memory, ephemeral_storage = (requests.get(name, 0) for name in (CPU, MEMORY, EPHEMERAL_STORAGE))
    return Size(cpu, memory, ephemeral_storage, scalars, *non_zero_requests(pod, requests))


class PodInfo:
    """What the scheduler needs of one pod."""

    def __init__(self, pod: ReadOnlyObject) -> None:
        spec: Mapping[str, Any] = pod.get("spec") or {}
        self.pod = pod
        self.spec = spec
        self.key: ObjectKey = key_of(pod)
        self.namespace = self.key.namespace
        self.name = self.key.name
        self.uid = uid_of(pod)
        self.labels = labels_of(pod)
        self.priority: int = spec.get("priority") or 0
        self.node_name: str = spec.get("nodeName") or ""
        self.scheduler_name: str = spec.get("schedulerName") or "default-scheduler"
        self.is_being_deleted = is_being_deleted(pod)
        self.likeness = _likeness(self.namespace, tuple(self.labels.items()), self.is_being_deleted)
        self.nominated_node_name: str = (pod.get("status") or {}).get("nominatedNodeName") or ""

        self.size = size_of(pod)
        self.cpu, self.memory, self.ephemeral_storage, scalars, self.non_zero_cpu, self.non_zero_memory = self.size
        self.scalars = dict(scalars)
        self.host_ports = host_ports_of(spec)

        affinity = spec.get("affinity") or {}
        near, far = affinity.get("podAffinity"), affinity.get("podAntiAffinity")
        self.has_pod_affinity = near is not None or far is not None
        self.required_affinity: Sequence[AffinityTerm] = required_terms(near, self.namespace)
        self.required_anti_affinity: Sequence[AffinityTerm] = required_terms(far, self.namespace)
        self.preferred_affinity: Sequence[WeightedTerm] = weighted_terms(near, self.namespace)
        self.preferred_anti_affinity: Sequence[WeightedTerm] = weighted_terms(far, self.namespace)

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"

    @property
    def tolerations(self) -> Sequence[Mapping[str, Any]]:
        return self.spec.get("tolerations") or ()

    @cached_property
    def tolerations_key(self) -> Hashable:
        """Equal where two pods tolerate the same."""
        return tuple(tuple(sorted(toleration.items())) for toleration in self.tolerations)

    @cached_property
    def required_node_affinity(self) -> RequiredNodeAffinity:
        return required_node_affinity(self.spec)

    @cached_property
    def preferred_node_affinity(self) -> tuple[PreferredTerm, ...]:
        return preferred_terms(self.spec)

    @cached_property
    def claim_keys(self) -> Sequence[ObjectKey]:
        """The PersistentVolumeClaims it mounts."""
        claims = (volume.get("persistentVolumeClaim") for volume in self.spec.get("volumes") or ())
        return tuple(ObjectKey(self.namespace, claim["claimName"]) for claim in claims if claim)

    def follow(self, pod: ReadOnlyObject) -> bool:
        """Take a newer version of the same pod, if all that is read of it here is as it was.

        A kubelet's news of a pod's start is nearly always such.
        """
        if (
            (pod.get("spec") or {}) != self.spec
            or labels_of(pod) != self.labels
            or is_being_deleted(pod) != self.is_being_deleted
            or (request_status(pod) != request_status(self.pod) and size_of(pod) != self.size)
            or ((pod.get("status") or {}).get("nominatedNodeName") or "") != self.nominated_node_name
        ):
            return False
        self.pod = pod
        return True

    def on_node(self, node_name: str, node_labels: Mapping[str, str]) -> PodInfo:
        """The same pod, placed: what the cache assumes until the binding is seen.

        With the binding a pod gets its node's zone and region as labels: assumed without them, each would have to be
        counted anew, and its node to be asked everything once more, as soon as the binding is seen.
        """
        placed = copy(self)
        placed.labels = {**self.labels, **{key: node_labels[key] for key in TOPOLOGY_LABELS if key in node_labels}}
        placed.likeness = _likeness(self.namespace, tuple(placed.labels.items()), self.is_being_deleted)
        placed.spec = {**self.spec, "nodeName": node_name}
        metadata = {**(self.pod.get("metadata") or {}), "labels": placed.labels}
        placed.pod = {**self.pod, "metadata": metadata, "spec": placed.spec}
        placed.node_name = node_name
        return placed
