"""The conditions of flow schemas and priority levels: each type once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


def check_conditions(obj: Object, errors: Errors) -> None:
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or NO_FIELDS).get("conditions") or NO_ITEMS):
        name, at = condition.get("type", ""), f"status.conditions[{i}].type"
        if name in seen:
            errors.append(field.duplicate(at, name))
        seen.add(name)
        if not name:
            errors.append(field.required(at))


def keep_metadata(new: Object, old: Object) -> None:
    """Nothing of the metadata is for the status endpoint to change."""
    managed = new["metadata"].get("managedFields")
    new["metadata"] = {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}
    if managed is not None:
        new["metadata"]["managedFields"] = managed
