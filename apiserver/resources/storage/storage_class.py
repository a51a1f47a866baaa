"""Storage classes and volume attributes classes: named parameters for a driver, which do not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_ITEMS,
    Errors,
    check_immutable,
    check_one_of,
    check_qualified_name,
    go_map,
)
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind
from apiserver.resources.pods.warnings import OLD_NODE_LABELS
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]
Topology = Mapping[str, frozenset[str]]

DEFAULTS = {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
MAX_PARAMETERS = 512
MAX_PARAMETERS_BYTES = 256 * 1024


class StorageClassStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        fill(obj, DEFAULTS)

    def check(self, obj: Object, errors: Errors) -> None:
        _check_driver(obj.get("provisioner", ""), "provisioner", errors)
        _check_parameters(obj.get("parameters") or {}, "parameters", errors)
        if policy := obj["reclaimPolicy"]:
            check_one_of(policy, RECLAIM_POLICIES, "reclaimPolicy", errors)
        check_one_of(obj["volumeBindingMode"], BINDING_MODES, "volumeBindingMode", errors)
        _check_topologies(obj.get("allowedTopologies") or NO_ITEMS, "allowedTopologies", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        check_immutable(go_map(new.get("parameters")), go_map(old.get("parameters")), "parameters", errors)
        for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            check_immutable(new.get(name), old.get(name), name, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_old_labels(obj.get("allowedTopologies") or NO_ITEMS))


class VolumeAttributesClassStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def check(self, obj: Object, errors: Errors) -> None:
        parameters = obj.get("parameters") or {}
        _check_driver(obj.get("driverName", ""), "driverName", errors)
        _check_parameters(parameters, "parameters", errors)
        if not parameters:
            errors.append(field.required("parameters", "must contain at least one key/value pair"))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        for name in ("driverName", "parameters"):
            if new.get(name) != old.get(name):
                errors.append(field.forbidden(name, f"updates to {name} are forbidden."))
        self.check(new, errors)


def _check_driver(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field.required(path))
    else:
        check_qualified_name(name.lower(), path, errors)


def _check_parameters(parameters: Mapping[str, str], path: str, errors: Errors) -> None:
    if len(parameters) > MAX_PARAMETERS:
        errors.append(field.too_long(path, MAX_PARAMETERS))
        return
    if "" in parameters:
        errors.append(field.invalid(path, "", "field can not be empty."))
    if sum(len(k.encode()) + len(v.encode()) for k, v in parameters.items()) > MAX_PARAMETERS_BYTES:
        errors.append(field.too_long(path, MAX_PARAMETERS_BYTES))


def _check_topologies(topologies: Sequence[Json], path: str, errors: Errors) -> None:
    """Terms differ from each other, and say each label once.

    Upstream compares each term also with as many empty ones as there are terms.
    """
    seen: list[Topology] = [{} for _ in topologies]
    for i, term in enumerate(topologies):
        at = f"{path}[{i}].matchLabelExpressions"
        topology: dict[str, frozenset[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions") or NO_ITEMS):
            _check_topology_requirement(requirement, topology, f"{at}[{j}]", errors)
        errors.extend(field.duplicate(at, "") for other in seen if other == topology)
        seen.append(topology)


def _check_topology_requirement(
    requirement: Json, topology: dict[str, frozenset[str]], path: str, errors: Errors
) -> None:
    """Checks one and adds it to the term's `topology`."""
    key, values = requirement.get("key", ""), requirement.get("values") or NO_ITEMS
    if not values:
        errors.append(field.required(f"{path}.values"))
    for i, value in enumerate(values):
        if value in values[:i]:
            errors.append(field.duplicate(f"{path}.values[{i}]", value))
    check_qualified_name(key, f"{path}.key", errors)
    if key in topology:
        errors.append(field.duplicate(f"{path}.key", key))
    topology[key] = frozenset(values)


def _old_labels(topologies: Sequence[Json]) -> Iterator[str]:
    for i, term in enumerate(topologies):
        for j, requirement in enumerate(term.get("matchLabelExpressions") or NO_ITEMS):
            if text := OLD_NODE_LABELS.get(requirement.get("key", "")):
                yield f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {text}"


STORAGE_CLASS = StorageClassStrategy()
VOLUME_ATTRIBUTES_CLASS = VolumeAttributesClassStrategy()
