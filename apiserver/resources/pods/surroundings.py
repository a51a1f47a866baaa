"""What the checks of one container need to know about the pod around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.resources.checks import NO_ITEMS
from kubeloop.apimachinery.values import value

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


@value
class Surroundings:
    """`volumes` are the well-formed ones by name; `is_pod` is False inside a template."""

    volumes: Mapping[str, Mapping[str, Any]]
    claim_names: frozenset[str]
    grace_period: int | None
    restart_policy: str
    host_users: bool
    os_name: str | None
    is_pod: bool


def all_containers(spec: Mapping[str, Any], path: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every container of every sort with its path, init containers first."""
    for list_name in CONTAINER_LISTS:
        for i, container in enumerate(spec.get(list_name) or NO_ITEMS):
            yield container, f"{path}.{list_name}[{i}]"


def privileged(container: Mapping[str, Any]) -> bool:
    return bool((container.get("securityContext") or {}).get("privileged"))
