"""CSINodes: which storage drivers a node has, and how they call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_not_negative, check_qualified_name
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind
from apiserver.resources.volumes.sources import check_driver_name
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_NODE_ID = 256


class CSINodeStrategy(PlainKind):
    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    returns_object_on_delete = True

    def check(self, obj: Object, errors: Errors) -> None:
        seen: set[str] = set()
        for i, driver in enumerate((obj.get("spec") or NO_FIELDS).get("drivers") or NO_ITEMS):
            _check_driver(driver, seen, f"spec.drivers[{i}]", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        """Drivers come and go; one that stays keeps all but how many volumes it takes."""
        self.check(new, errors)
        for driver in _fixed_parts(old):
            for changed in _fixed_parts(new):
                if changed["name"] == driver["name"] and changed != driver:
                    value = as_internal("CSINodeDriver", changed)
                    errors.append(field.invalid("spec.drivers", value, validation.IMMUTABLE))


def _fixed_parts(obj: Json) -> list[Object]:
    drivers = (obj.get("spec") or NO_FIELDS).get("drivers") or NO_ITEMS
    return [{k: v for k, v in driver.items() if k != "allocatable"} for driver in drivers]


def _check_driver(driver: Json, seen: set[str], path: str, errors: Errors) -> None:
    name, node_id = driver.get("name", ""), driver.get("nodeID", "")
    check_driver_name(name, f"{path}.name", errors)
    if not node_id:
        errors.append(field.required(f"{path}.nodeID"))
    elif len(node_id.encode()) > MAX_NODE_ID:
        errors.append(field.invalid(f"{path}.nodeID", node_id, f"must be {MAX_NODE_ID} characters or less"))
    count = (driver.get("allocatable") or NO_FIELDS).get("count", 0)
    check_not_negative(count, f"{path}.allocatable.count", errors)
    if name in seen:
        errors.append(field.duplicate(f"{path}.name", name))
    seen.add(name)
    keys = driver.get("topologyKeys") or NO_ITEMS
    for i, key in enumerate(keys):
        if not key:
            errors.append(field.required(path))
        if key in keys[:i]:
            errors.append(field.duplicate(path, key))
        check_qualified_name(key, path, errors)


CSI_NODE = CSINodeStrategy()
