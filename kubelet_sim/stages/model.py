"""A Stage read into what is played: which objects it is for, when, and what comes next. Pure but for given dice.

The documents are kwok's (`kwok.x-k8s.io/v1alpha1`, pkg/utils/lifecycle has the semantics).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubelet_sim.stages.amounts import Delay, From, Weight
from kubelet_sim.stages.expression import Cel, Query
from kubelet_sim.stages.template import Template
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, labels_of

NODE, POD = "Node", "Pod"


class ResourceRef(NamedTuple):
    """Which kind a Stage is of; kwok calls the group and version `apiGroup`."""

    api_version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.api_version})"


OF_PODS, OF_NODES = ResourceRef("v1", POD), ResourceRef("v1", NODE)


@dataclass(frozen=True, slots=True)
class Requirement:
    """What jq finds is compared as text."""

    query: Query
    operator: str
    values: frozenset[str]

    def holds(self, obj: ReadOnlyObject) -> bool:
        found = self.query.find(obj)
        if self.operator == "Exists":
            return bool(found)
        if self.operator == "DoesNotExist":
            return not found
        return any(_text(value) in self.values for value in found) == (self.operator == "In")


@dataclass(frozen=True, slots=True)
class Selector:
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    of_marks: Sequence[Requirement]  # those about labels and annotations alone
    others: Sequence[Requirement]
    conditions: Sequence[Cel]

    @property
    def asks_for_marks(self) -> bool:
        return bool(self.labels or self.annotations or self.of_marks)

    def wants(self, obj: ReadOnlyObject) -> bool:
        """Whether the object's labels and annotations are what is asked for."""
        labels, annotations = labels_of(obj), annotations_of(obj)
        return (
            all(labels.get(key) == value for key, value in self.labels.items())
            and all(annotations.get(key) == value for key, value in self.annotations.items())
            and all(one.holds(obj) for one in self.of_marks)
        )

    def matches(self, obj: ReadOnlyObject) -> bool:
        return (
            self.wants(obj)
            and all(one.holds(obj) for one in self.others)
            and all(condition.value(obj) is True for condition in self.conditions)
        )


@dataclass(frozen=True, slots=True)
class Patch:
    """`type`: json, merge or strategic; `username`: as whom it is sent."""

    type: str
    subresource: str
    root: str
    template: Template
    username: str


@dataclass(frozen=True, slots=True)
class Apply:
    """Of another object, which the template names. `type`: apply, merge or strategic."""

    type: str
    subresource: str
    template: Template
    username: str


@dataclass(frozen=True, slots=True)
class Step:
    """In this order: tell, change finalizers, and delete, or else patch and apply."""

    event: Mapping[str, str] | None = None
    finalizers: Mapping[str, Any] | None = None
    is_deletion: bool = False
    patch: Patch | None = None
    apply: Apply | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """`asked`: all that its weight and delay are found in. Stages are told apart by identity."""

    name: str
    ref: ResourceRef
    selector: Selector
    weight: Weight
    delay: Delay
    steps: Sequence[Step]
    is_immediate: bool
    asked: Sequence[From]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
