"""A pod as the security checks look at it, and the turns of phrase their answers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.admission.pod_security.policy import Policy
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of

Container = Mapping[str, Any]


class Violation(NamedTuple):
    """What is forbidden, and where it is found."""

    reason: str
    detail: str


class Pod:
    """The parts of a pod that checks ask about. Containers are init containers, containers, ephemeral ones."""

    def __init__(self, pod: ReadOnlyObject) -> None:
        self.spec: Mapping[str, Any] = pod.get("spec") or {}
        self.annotations = annotations_of(pod)
        self.security: Mapping[str, Any] = self.spec.get("securityContext") or {}
        self.containers: Sequence[Container] = [
            container
            for field in ("initContainers", "containers", "ephemeralContainers")
            for container in self.spec.get(field) or ()
        ]

    @property
    def is_windows(self) -> bool:
        return (self.spec.get("os") or {}).get("name") == "windows"

    def contexts(self) -> Iterator[Mapping[str, Any]]:
        """The security contexts of the pod and of each container."""
        yield self.security
        yield from map(security_of, self.containers)

    def containers_where(self, test: Callable[[Container], bool]) -> list[str]:
        """The names of the containers for which `test` holds."""
        return [container.get("name", "") for container in self.containers if test(container)]


Check = Callable[[Pod, Policy], Violation | None]


def security_of(container: Container) -> Mapping[str, Any]:
    return container.get("securityContext") or {}


def is_relaxed(pod: Pod, policy: Policy) -> bool:
    """Whether the pod has a user namespace of its own, where root is nobody: from 1.35 on less is asked of it then."""
    return policy.is_from(35) and pod.spec.get("hostUsers") is False


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def plural(count: int, singular: str, word: str) -> str:
    return singular if count == 1 else word


def containers_text(names: Sequence[str]) -> str:
    """`container "a"` or `containers "a", "b"`."""
    return f"{plural(len(names), 'container', 'containers')} {quoted(names)}"


def setters_text(pod_sets: bool, names: Sequence[str]) -> str:
    """`pod and container "a"`: who sets something."""
    return " and ".join((["pod"] if pod_sets else []) + ([containers_text(names)] if names else []))
