"""What the DaemonSet's planners read: plain values taken out of the objects at the door."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controllers import pods
from controllers.daemon_set.placement import NOWHERE, Placement, Requirements
from controllers.daemon_set.pod import GENERATION_LABEL, HASH_LABEL, target_node
from kubeloop.apimachinery.int_or_percent import IntOrPercent, scaled
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    labels_of,
    metadata,
    name_of,
)

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


@dataclass(frozen=True, slots=True)
class DaemonSpec:
    """A DaemonSet with its numbers resolved. `generation`: its template's, as text; "" where it does not say."""

    obj: Object
    is_rolling: bool
    surge: IntOrPercent
    unavailable: IntOrPercent
    min_ready_seconds: int
    generation: str

    @classmethod
    def of(cls, daemon_set: Object) -> DaemonSpec:
        spec = daemon_set["spec"]
        strategy = spec.get("updateStrategy") or {}
        is_rolling = strategy.get("type") == "RollingUpdate"
        rolling = (strategy.get("rollingUpdate") or {}) if is_rolling else {}
        written = annotations_of(daemon_set).get(_TEMPLATE_GENERATION, "")
        return cls(
            daemon_set,
            is_rolling,
            rolling.get("maxSurge") or 0,
            rolling.get("maxUnavailable") or 0,
            spec.get("minReadySeconds") or 0,
            str(int(written)) if _is_integer(written) else "",
        )

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def allows_surge(self) -> bool:
        """Whether a node may have two pods."""
        return scaled(self.surge, 1, round_up=True) > 0

    def limits(self, desired: int) -> tuple[int, int]:
        """How many nodes may have two pods, and how many may have none; both 0 would stand still for ever."""
        surge = scaled(self.surge, desired, round_up=True)
        unavailable = scaled(self.unavailable, desired, round_up=True)
        return surge, 1 if desired and not surge and not unavailable else unavailable


@dataclass(frozen=True, slots=True)
class Situation:
    """The DaemonSet's pods, node by node. `placements`: of the nodes there are; `pods_by_node`: see `of`."""

    spec: DaemonSpec
    revision_hash: str
    placements: Mapping[str, Placement]
    pods_by_node: Mapping[str, Sequence[Object]]
    now: datetime

    @classmethod
    def of(
        cls,
        spec: DaemonSpec,
        revision_hash: str,
        nodes: Iterable[ReadOnlyObject],
        members: Iterable[Object],
        now: datetime,
    ) -> Situation:
        """Pods by the node they run on or are made for, the oldest first; without those that are done and going."""
        requirements = Requirements.of(spec.obj)
        placements = {name_of(node): requirements.placement(node) for node in sorted(nodes, key=name_of)}
        by_node: dict[str, list[Object]] = defaultdict(list)
        for pod in sorted(members, key=_age):
            node_name = target_node(pod)
            if node_name and not (pods.is_terminal(pod) and is_being_deleted(pod)):
                by_node[node_name].append(pod)
        return cls(spec, revision_hash, placements, by_node, now)

    @property
    def desired(self) -> int:
        """On how many nodes a pod should run."""
        return sum(placement.should_run for placement in self.placements.values())

    def placement(self, node_name: str) -> Placement:
        return self.placements.get(node_name, NOWHERE)

    def on(self, node_name: str) -> Sequence[Object]:
        return self.pods_by_node.get(node_name, ())

    def is_updated(self, pod: ReadOnlyObject) -> bool:
        """Whether it has the present template: by the revision's hash or, as of old, the template's generation."""
        labels = labels_of(pod)
        if self.revision_hash and labels.get(HASH_LABEL) == self.revision_hash:
            return True
        return bool(self.spec.generation) and labels.get(GENERATION_LABEL) == self.spec.generation

    def is_available(self, pod: ReadOnlyObject) -> bool:
        return pods.is_available(pod, self.spec.min_ready_seconds, self.now)


def _age(pod: ReadOnlyObject) -> tuple[bool, str, str]:
    return not pods.node_of(pod), metadata(pod).get("creationTimestamp") or "", name_of(pod)
