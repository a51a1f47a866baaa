"""Stages read from a file, and which of them a pod is to go through next. Pure but for the dice that are handed in.

The documents are kwok's (`kwok.x-k8s.io/v1alpha1`); a pod is given over to them when its labels and annotations are
what some stage asks for, and stays so. Those that ask for none take all pods.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path as FilePath
from typing import Any

from kubelet_sim.stages.expression import Path, StageError, is_about_marks, path
from kubelet_sim.stages.template import Template
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, labels_of
from kubeloop.apimachinery.times import parse_time
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml

GROUPS = ("kwok.x-k8s.io/v1alpha1", "kubeloop.io/v1alpha1")
FUNCTIONS = ("Now", "NodeIP", "NodeIPWith", "PodIP", "PodIPWith", "NodeName", "Version")
_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?$", re.MULTILINE)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    found_at: Path
    operator: str
    values: frozenset[str]

    def holds(self, obj: ReadOnlyObject) -> bool:
        found = [_text(value) for value in self.found_at(obj)]
        if self.operator == "Exists":
            return bool(found)
        if self.operator == "DoesNotExist":
            return not found
        return any(text in self.values for text in found) == (self.operator == "In")


@dataclass(frozen=True, slots=True)
class Wait:
    """Milliseconds, or what is found at a path of the pod: a duration, or a time to wait for."""

    milliseconds: int | None
    found_at: Path | None

    def seconds(self, obj: ReadOnlyObject, now: datetime) -> float | None:
        for value in self.found_at(obj) if self.found_at else ():
            if not isinstance(value, str):
                continue
            if not duration_error(value):
                return duration_seconds(value)
            try:
                return max((parse_time(value) - now).total_seconds(), 0.0)
            except ValueError:
                continue
        return None if self.milliseconds is None else self.milliseconds / 1000


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: Sequence[Requirement]
    weight: int
    duration: Wait
    jitter: Wait
    status: Template | None
    event: Mapping[str, str]
    finalizers: Mapping[str, Any]
    deletes: bool

    def wants(self, pod: ReadOnlyObject) -> bool:
        """Whether its labels and annotations are what the stage asks for."""
        return self._has_marks(pod) and all(one.holds(pod) for one in self.requirements if is_about_marks(one.key))

    def matches(self, pod: ReadOnlyObject) -> bool:
        return self._has_marks(pod) and all(one.holds(pod) for one in self.requirements)

    def delay_seconds(self, pod: ReadOnlyObject, now: datetime, rng: random.Random) -> float:
        """As in kwok: the jitter is the longest delay, and the delay itself where it is shorter."""
        least, most = self.duration.seconds(pod, now) or 0.0, self.jitter.seconds(pod, now)
        if most is None:
            return least
        return most if most < least else least + (most - least) * rng.random()

    def _has_marks(self, pod: ReadOnlyObject) -> bool:
        labels, annotations = labels_of(pod), annotations_of(pod)
        return all(labels.get(key) == value for key, value in self.labels.items()) and all(
            annotations.get(key) == value for key, value in self.annotations.items()
        )


def choose(stages: Sequence[Stage], pod: ReadOnlyObject, rng: random.Random) -> Stage | None:
    """One of those that match, by their weights; without any weight each is as likely."""
    matching = [stage for stage in stages if stage.matches(pod)]
    if not matching:
        return None
    weights = [stage.weight for stage in matching]
    return rng.choices(matching, weights if any(weights) else None)[0]


def read_file(file: FilePath) -> list[Stage]:
    """The stages of pods in a file of YAML documents. Raises StageError, or OSError."""
    texts = _SEPARATOR.split(file.read_text())
    try:
        documents = [document for document in (parse_yaml(text.encode()) for text in texts) if document]
    except YamlSyntaxError as error:
        raise StageError(str(error)) from error
    return [read(document) for document in documents if _is_of_pods(document)]


def read(document: Mapping[str, Any]) -> Stage:
    """Raises StageError."""
    name = (document.get("metadata") or {}).get("name") or ""
    try:
        return _read(name, document.get("spec") or {})
    except StageError as error:
        raise StageError(f"stage {name!r}: {error}") from None


def _is_of_pods(document: Any) -> bool:
    if not isinstance(document, Mapping) or document.get("kind") != "Stage":
        raise StageError("a document is no Stage")
    if document.get("apiVersion") not in GROUPS:
        raise StageError(f"apiVersion {document.get('apiVersion')!r}: there are {' and '.join(GROUPS)}")
    kind = ((document.get("spec") or {}).get("resourceRef") or {}).get("kind")
    if kind != "Pod":
        raise StageError(f"stages of {kind!r}: only those of Pod are played")
    return True


def _read(name: str, spec: Mapping[str, Any]) -> Stage:
    selector, delay, following = spec.get("selector") or {}, spec.get("delay") or {}, spec.get("next") or {}
    template = following.get("statusTemplate")
    return Stage(
        name=name,
        labels=selector.get("matchLabels") or {},
        annotations=selector.get("matchAnnotations") or {},
        requirements=[_requirement(one) for one in selector.get("matchExpressions") or ()],
        weight=spec.get("weight") or 0,
        duration=_wait(delay, "durationMilliseconds", "durationFrom"),
        jitter=_wait(delay, "jitterDurationMilliseconds", "jitterDurationFrom"),
        status=Template(template, FUNCTIONS) if template else None,
        event=following.get("event") or {},
        finalizers=following.get("finalizers") or {},
        deletes=bool(following.get("delete")),
    )


def _requirement(fields: Mapping[str, Any]) -> Requirement:
    operator = fields.get("operator")
    if operator not in _OPERATORS:
        raise StageError(f"operator {operator!r}: there are {', '.join(_OPERATORS)}")
    key = fields.get("key") or ""
    return Requirement(key, path(key), operator, frozenset(map(str, fields.get("values") or ())))


def _wait(delay: Mapping[str, Any], milliseconds: str, found: str) -> Wait:
    expression = (delay.get(found) or {}).get("expressionFrom")
    return Wait(delay.get(milliseconds), path(expression) if expression else None)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
