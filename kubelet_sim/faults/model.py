"""A Fault read into what the simulation works with. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kubelet_sim.annotations import PREFIX, BehaviourError
from kubelet_sim.behaviour import behaviour_of
from kubelet_sim.faults.definition import POD_BEHAVIOUR
from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, metadata, name_of, namespace_of
from kubeloop.apimachinery.selectors import Selector, from_label_selector
from kubeloop.apimachinery.times import moment_after, parse_time


@dataclass(frozen=True, slots=True)
class Fault:
    """In force from `start` to before `end`. `names` or `selector` say which nodes; `selector` and `namespace` which
    pods. `behaviour` is what annotations would say. `problem`: why it never comes into force.
    """

    name: str
    type: str
    start: datetime
    end: datetime | None
    names: frozenset[str]
    selector: Selector | None = field(compare=False)
    namespace: str
    behaviour: Mapping[str, str]
    delay_seconds: float
    spec: Mapping[str, Any]  # as it was read
    problem: str = ""

    def is_active(self, now: datetime) -> bool:
        return not self.problem and self.start <= now and (self.end is None or now < self.end)

    def next_change(self, now: datetime) -> datetime | None:
        """When it comes into force, or ends."""
        return min((at for at in (self.start, self.end) if at is not None and at > now), default=None)

    def phase(self, now: datetime) -> str:
        if self.problem:
            return "Invalid"
        if self.is_active(now):
            return "Active"
        return "Pending" if now < self.start else "Over"

    def hits_node(self, name: str, node: ReadOnlyObject | None) -> bool:
        if self.type == POD_BEHAVIOUR:
            return False
        if name in self.names:
            return True
        return self.selector is not None and node is not None and self.selector.matches(labels_of(node))

    def hits_pod(self, pod: ReadOnlyObject) -> bool:
        if self.type != POD_BEHAVIOUR or (self.namespace and namespace_of(pod) != self.namespace):
            return False
        return self.selector is None or self.selector.matches(labels_of(pod))


def order(fault: Fault) -> tuple[datetime, str]:
    """In which faults come into force."""
    return fault.start, fault.name


def read(obj: ReadOnlyObject) -> Fault:
    spec = obj["spec"]
    target = spec.get("pods" if spec["type"] == POD_BEHAVIOUR else "nodes") or {}
    start = parse_time(spec.get("startTime") or metadata(obj)["creationTimestamp"])
    duration = spec.get("duration")
    behaviour = {f"{PREFIX}{word}": value for word, value in (spec.get("behaviour") or {}).items()}
    return Fault(
        name=name_of(obj),
        type=spec["type"],
        start=start,
        end=moment_after(start, duration_seconds(duration)) if duration else None,
        names=frozenset(target.get("names") or ()),
        selector=from_label_selector(target["selector"]) if target.get("selector") else None,
        namespace=target.get("namespace") or "",
        behaviour=behaviour,
        delay_seconds=duration_seconds(spec["delay"]) if spec.get("delay") else 0.0,
        spec=spec,
        problem=_problem(behaviour),
    )


def _problem(behaviour: Mapping[str, str]) -> str:
    """Of a behaviour that no container could show."""
    probe = {"httpGet": {"port": 80}}
    container = {"startupProbe": probe, "readinessProbe": probe, "livenessProbe": probe}
    limited = {"resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}}
    names = {name.partition("/")[2].partition(".")[2] for name in behaviour} | {""}
    try:
        for name in names:
            behaviour_of({"name": name, **container, **limited}, behaviour)
    except BehaviourError as error:
        return str(error)
    return ""
