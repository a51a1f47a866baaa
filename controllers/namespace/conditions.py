"""The five conditions of a terminating namespace. Pure.

pkg/controller/namespace/deletion/status_condition_utils.go, v1.36. A condition keeps its place, and its time while
its status stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kubeloop.apimachinery.conditions import set_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.times import format_time

_FINE = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


@dataclass(slots=True)
class Findings:
    """What a round of deletions found."""

    discovery_failure: str = ""
    content_failures: list[str] = field(default_factory=list)
    remaining: dict[Resource, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)  # how many objects hold each


def updated(stored: Sequence[ReadOnlyObject], findings: Findings, now: datetime) -> list[Object]:
    """The namespace's conditions after a round."""
    problems = _problems(findings)
    moment = format_time(now)
    conditions: list[Object] = [dict(condition) for condition in stored]
    for kind, reason, message in _FINE:
        status = "True" if kind in problems else "False"
        reason, message = problems.get(kind, (reason, message))
        condition = {"type": kind, "status": status, "reason": reason, "message": message}
        conditions = set_condition(conditions, condition, moment)
    return conditions


def _problems(findings: Findings) -> Mapping[str, tuple[str, str]]:
    problems = {}
    if findings.discovery_failure:
        problems["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", findings.discovery_failure)
    if findings.content_failures:
        failures = sorted(findings.content_failures)
        message = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}"
        problems["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
    if findings.remaining:
        counts = [f"{r.plural}.{r.group} has {count} resource instances" for r, count in findings.remaining.items()]
        message = f"Some resources are remaining: {', '.join(sorted(counts))}"
        problems["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
    if findings.finalizers:
        held = [f"{finalizer} in {count} resource instances" for finalizer, count in findings.finalizers.items()]
        message = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(held))}"
        problems["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return problems
