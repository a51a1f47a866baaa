"""ResourceSlices: the devices of a driver's pool, or part of them, and the nodes that can reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
)
from apiserver.resources.dynamic_resources.device_checks import check_list, check_pool_name, name_of
from apiserver.resources.dynamic_resources.slice_device import check_counters, check_device
from apiserver.resources.kinds import FieldMap, SpecKind
from apiserver.resources.pods.node_selectors import check_node_selector
from apiserver.resources.volumes.sources import check_driver_name
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

Json = Mapping[str, Any]

MAX_DEVICES = 128
MAX_ELABORATE_DEVICES = 64  # where one of them has taints or consumes counters
MAX_COUNTER_SETS = 8
ONE_OF = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
FIELDS = FieldMap({"spec.nodeName": ("spec", "nodeName"), "spec.driver": ("spec", "driver")})


class ResourceSliceStrategy(SpecKind):
    returns_object_on_delete = True

    def blank_status(self, obj: Object) -> Any:
        return None

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {})

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        _note_when_tainted(obj, obj["metadata"].get("creationTimestamp"))

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_driver_name(spec.get("driver", ""), "spec.driver", errors)
        _check_pool(spec.get("pool") or NO_FIELDS, "spec.pool", errors)
        _check_nodes(spec, "spec", errors)
        _check_contents(spec, "spec", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        spec, before = new["spec"], old["spec"]
        pools = spec.get("pool") or NO_FIELDS, before.get("pool") or NO_FIELDS
        check_immutable(name_of(pools[0]), name_of(pools[1]), "spec.pool.name", errors)
        for name in ("driver", "nodeName"):
            check_immutable(spec.get(name), before.get(name), f"spec.{name}", errors)

    def stamp_update(self, new: Object, old: Object, now: datetime) -> None:
        _note_when_tainted(new, format_time(now))

    def warnings(self, obj: Object) -> Sequence[str]:
        driver = obj["spec"].get("driver", "")
        if driver == driver.lower():
            return ()
        quoted = field.go_quote(driver)
        return (f"spec.driver: driver names should be lowercase; {quoted} contains uppercase characters",)

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names

    def unsupported_field(self, name: str) -> str:
        return f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {name}"


def _note_when_tainted(obj: Object, moment: str | None) -> None:
    for device in obj["spec"].get("devices") or NO_ITEMS:
        for taint in device.get("taints") or NO_ITEMS:
            taint["timeAdded"] = taint.get("timeAdded") or moment


def _check_pool(pool: Json, path: str, errors: Errors) -> None:
    check_pool_name(name_of(pool), f"{path}.name", errors)
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        errors.append(field.invalid(f"{path}.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(field.invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))


def _check_nodes(spec: Json, path: str, errors: Errors) -> None:
    """One way to say from where the devices can be reached."""
    name, selector, said = spec.get("nodeName"), spec.get("nodeSelector"), []
    if name:
        said.append("`nodeName`")
        check_dns_subdomain(name, f"{path}.nodeName", errors)
    elif name is not None:
        errors.append(field.invalid(f"{path}.nodeName", name, "must be either unset or set to a non-empty string"))
    if selector is not None:
        said.append("`nodeSelector`")
        check_node_selector(selector, f"{path}.nodeSelector", errors)
        terms = selector.get("nodeSelectorTerms")
        if len(terms or NO_ITEMS) != 1:
            reason = "must have exactly one node selector term"
            errors.append(field.invalid(f"{path}.nodeSelector.nodeSelectorTerms", terms, reason))
    for flag in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(flag):
            said.append(f"`{flag}`")
        elif spec.get(flag) is not None:
            errors.append(field.invalid(f"{path}.{flag}", False, "must be either unset or set to true"))
    if not said:
        errors.append(field.required(path, ONE_OF))
    elif len(said) > 1:
        errors.append(field.invalid(path, f"{{{', '.join(said)}}}", f"{ONE_OF}, but multiple fields are set"))


def _check_contents(spec: Json, path: str, errors: Errors) -> None:
    devices, counter_sets = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counter_sets is not None:
        errors.append(field.invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
    says_where = bool(spec.get("perDeviceNodeSelection"))

    def check(device: Json, path: str, errors: Errors) -> None:
        check_device(device, says_where, path, errors)

    elaborate = any(d.get("taints") or d.get("consumesCounters") for d in devices or NO_ITEMS)
    maximum = MAX_ELABORATE_DEVICES if elaborate else MAX_DEVICES
    check_list(devices, maximum, check, f"{path}.devices", errors, key=name_of)
    check_list(counter_sets, MAX_COUNTER_SETS, _check_counter_set, f"{path}.sharedCounters", errors, key=name_of)


def _check_counter_set(counter_set: Json, path: str, errors: Errors) -> None:
    if name := name_of(counter_set):
        check_dns_label(name, f"{path}.name", errors)
    else:
        errors.append(field.required(f"{path}.name"))
    check_counters(counter_set.get("counters"), f"{path}.counters", errors)


RESOURCE_SLICE = ResourceSliceStrategy()
