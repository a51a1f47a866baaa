"""Where a kind keeps what its scale subresource shows: the replicas wanted, those there are, and the selector.

Workloads of Kubernetes' own keep them at one place; a custom kind's definition names paths. `scale.py` asks these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from apiserver.registry.nested import AccessorError, dotted, nested_integer, nested_text
from kubeloop.apimachinery import selectors, validation
from kubeloop.apimachinery.errors import ApiError, BadRequest, InternalError, Invalid
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.metadata_validation import create_errors, non_negative_errors

Path = tuple[str, ...]

# What a custom resource without replicas is shown to ask for while it is being scaled; whoever leaves it is refused.
_UNSET = -(1 << 31)


class ScaleFields(Protocol):
    @property
    def spec_path(self) -> Path:
        """Where the replicas wanted stand."""
        ...

    def spec_replicas(self, workload: Object, *, may_be_absent: bool = False) -> int: ...

    def status_replicas(self, workload: Object) -> int: ...

    def selector(self, workload: Object) -> str: ...

    def check(self, scale: Object, replicas: int, name: str) -> None:
        """Raises Invalid, or BadRequest, where a Scale may not ask for so many."""
        ...

    def with_replicas(self, workload: Object, replicas: int) -> Object: ...


class WorkloadScale:
    """Deployments and the like."""

    spec_path: Path = ("spec", "replicas")

    def spec_replicas(self, workload: Object, *, may_be_absent: bool = False) -> int:
        return workload.get("spec", {}).get("replicas") or 0

    def status_replicas(self, workload: Object) -> int:
        return workload.get("status", {}).get("replicas", 0)

    def selector(self, workload: Object) -> str:
        selector = workload.get("spec", {}).get("selector")
        if not selector:
            return ""
        if selector.keys() <= {"matchLabels", "matchExpressions"}:
            return str(selectors.from_label_selector(selector))
        return str(selectors.from_labels(selector))  # a ReplicationController's

    def check(self, scale: Object, replicas: int, name: str) -> None:
        errors = create_errors(scale, namespaced=True, name_errors=validation.dns_subdomain_errors)
        errors += non_negative_errors(replicas, "spec.replicas")
        if errors:
            raise Invalid.of("Scale", "autoscaling", name, errors)

    def with_replicas(self, workload: Object, replicas: int) -> Object:
        return {**workload, "spec": {**workload["spec"], "replicas": replicas}}


@dataclass(frozen=True, slots=True)
class PathScale:
    """A custom kind's. Its validation, not the Scale's, says which numbers are good."""

    spec_path: Path
    status_path: Path
    selector_path: Path = ()

    def spec_replicas(self, workload: Object, *, may_be_absent: bool = False) -> int:
        value = _integer(workload, self.spec_path)
        if value is None and not may_be_absent:
            raise InternalError.because(f'the spec replicas field "{dotted(self.spec_path)}" does not exist')
        return _UNSET if value is None else value

    def status_replicas(self, workload: Object) -> int:
        return _integer(workload, self.status_path) or 0

    def selector(self, workload: Object) -> str:
        if not self.selector_path:
            return ""
        try:
            return nested_text(workload, self.selector_path) or ""
        except AccessorError as error:
            raise ApiError(str(error), code=500) from error

    def check(self, scale: Object, replicas: int, name: str) -> None:
        if replicas == _UNSET:
            raise BadRequest(f'the spec replicas field "{dotted(self.spec_path)}" cannot be empty')

    def with_replicas(self, workload: Object, replicas: int) -> Object:
        changed = deep_copy(workload)
        holder = changed
        for i, step in enumerate(self.spec_path[:-1]):
            holder = holder.setdefault(step, {})
            if not isinstance(holder, dict):
                at = dotted(self.spec_path[: i + 1])
                raise ApiError(f"value cannot be set because {at} is not a map[string]interface{{}}", code=500)
        holder[self.spec_path[-1]] = replicas
        return changed


WORKLOAD = WorkloadScale()


def _integer(workload: Object, path: Path) -> int | None:
    try:
        return nested_integer(workload, path)
    except AccessorError as error:
        raise ApiError(str(error), code=500) from error
