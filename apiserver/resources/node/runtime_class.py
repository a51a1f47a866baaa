"""RuntimeClasses: a handler of the container runtime, what it costs, and the nodes that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_label,
    check_immutable,
    check_labels,
)
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind
from apiserver.resources.pods.tolerations import check_tolerations
from apiserver.resources.pods.warnings import OLD_NODE_LABELS
from apiserver.resources.resource_lists import check_requirements
from apiserver.resources.resource_names import check_container_resource_name
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


class RuntimeClassStrategy(PlainKind):
    rechecks_object = True
    allow_create_on_update = True
    checks_finalizer_domains = False
    allow_unconditional_update = False

    def check(self, obj: Object, errors: Errors) -> None:
        if handler := obj.get("handler"):
            check_dns_label(handler, "handler", errors)
        else:
            errors.append(field.required("handler"))
        if (overhead := obj.get("overhead")) is not None:
            limits = {"limits": overhead.get("podFixed") or NO_FIELDS}
            check_requirements(limits, check_container_resource_name, frozenset(), "overhead", errors)
        if (scheduling := obj.get("scheduling")) is not None:
            check_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", errors)
            _check_tolerations(scheduling.get("tolerations") or NO_ITEMS, "scheduling.tolerations", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        selector = (obj.get("scheduling") or NO_FIELDS).get("nodeSelector") or NO_FIELDS
        return [f"scheduling.nodeSelector: {OLD_NODE_LABELS[key]}" for key in selector if key in OLD_NODE_LABELS]

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        check_immutable(new.get("handler", ""), old.get("handler", ""), "handler", errors)


def _check_tolerations(tolerations: Sequence[Json], path: str, errors: Errors) -> None:
    """Good ones, and none twice: how long they hold makes no difference."""
    check_tolerations(tolerations, path, errors)
    seen: set[tuple[str, ...]] = set()
    for i, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
        if key in seen:
            errors.append(field.duplicate(f"{path}[{i}]", as_internal("Toleration", toleration)))
        seen.add(key)


RUNTIME_CLASS = RuntimeClassStrategy()
