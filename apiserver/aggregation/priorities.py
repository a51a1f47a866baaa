"""In which order groups and their versions are shown, and so which one clients prefer.

Facts: cmd/kube-apiserver/app/aggregator.go, pkg/controlplane/apiserver/aggregator.go and crdregistration (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apiserver.registry.custom.kinds import by_preference


class Priority(NamedTuple):
    """Higher ones come first."""

    group: int
    version: int


# The group of APIServices has none itself; it comes before all others.
ITSELF = "apiregistration.k8s.io"
FIRST = Priority(20_001, 0)
CUSTOM = Priority(1000, 100)

BUILT_IN: Mapping[tuple[str, str], Priority] = {
    ("", "v1"): Priority(18_000, 1),
    ("admissionregistration.k8s.io", "v1"): Priority(16_700, 15),
    ("apiextensions.k8s.io", "v1"): Priority(16_700, 15),
    ("apps", "v1"): Priority(17_800, 15),
    ("authentication.k8s.io", "v1"): Priority(17_700, 15),
    ("authorization.k8s.io", "v1"): Priority(17_600, 15),
    ("autoscaling", "v1"): Priority(17_500, 15),
    ("autoscaling", "v2"): Priority(17_500, 30),
    ("batch", "v1"): Priority(17_400, 15),
    ("certificates.k8s.io", "v1"): Priority(17_300, 15),
    ("coordination.k8s.io", "v1"): Priority(16_500, 15),
    ("discovery.k8s.io", "v1"): Priority(16_200, 15),
    ("events.k8s.io", "v1"): Priority(17_750, 15),
    ("flowcontrol.apiserver.k8s.io", "v1"): Priority(16_100, 21),
    ("networking.k8s.io", "v1"): Priority(17_200, 15),
    ("node.k8s.io", "v1"): Priority(16_300, 15),
    ("policy", "v1"): Priority(17_100, 15),
    ("rbac.authorization.k8s.io", "v1"): Priority(17_000, 15),
    ("resource.k8s.io", "v1"): Priority(16_200, 21),
    ("scheduling.k8s.io", "v1"): Priority(16_600, 15),
    ("storage.k8s.io", "v1"): Priority(16_800, 15),
}


def priority_of(group: str, version: str) -> Priority:
    """That of a group version this server answers for."""
    return FIRST if group == ITSELF else BUILT_IN.get((group, version), CUSTOM)


def in_order(priorities: Mapping[tuple[str, str], Priority]) -> dict[str, list[str]]:
    """group -> versions, both the most important first."""
    groups: dict[str, list[str]] = {}
    highest: dict[str, int] = {}
    for (group, version), priority in priorities.items():
        groups.setdefault(group, []).append(version)
        highest[group] = max(highest.get(group, 0), priority.group)
    return {
        group: sorted(groups[group], key=lambda version: (-priorities[group, version].version, by_preference(version)))
        for group in sorted(groups, key=lambda group: (-highest[group], group))
    }
