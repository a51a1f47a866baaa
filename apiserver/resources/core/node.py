"""Nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_cidr, check_positive
from apiserver.resources.kinds import FieldMap, PlainKind, carry_over
from apiserver.resources.pods.tolerations import check_taints
from apiserver.resources.resource_lists import check_amount, round_up
from kubeloop.apimachinery import addresses, field, quantity
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

FIELDS = FieldMap({"spec.unschedulable": ("spec", "unschedulable")}, {"spec.unschedulable": "false"})
# What Go writes of a status that nobody has reported yet.
EMPTY_NODE_INFO = dict.fromkeys(
    (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ),
    "",
)


MAX_FEATURE_NAME = 253
_is_feature_name = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch


class NodeStrategy(PlainKind):
    """Unlike other kinds a node may be created with its status: kubelets once registered themselves that way."""

    rechecks_object = True

    def default(self, obj: Object) -> None:
        spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
        _mirror_pod_cidr(spec)
        if "capacity" in status and "allocatable" not in status:
            status["allocatable"] = dict(status["capacity"])
        for name in ("capacity", "allocatable"):
            if name in status:
                round_up(status[name])
        status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {"Port": 0})
        status["nodeInfo"] = {**EMPTY_NODE_INFO, **(status.get("nodeInfo") or NO_FIELDS)}

    def prepare_for_create(self, obj: Object) -> None:
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")
        new["spec"].pop("configSource", None)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        new.get("status", {}).pop("config", None)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_taints(spec.get("taints") or NO_ITEMS, "metadata.taints", errors)
        _check_amounts(obj, errors)
        _check_swap(obj, errors)
        _check_features(obj, errors)
        ranges = spec.get("podCIDRs") or NO_ITEMS
        for i, value in enumerate(ranges):
            check_cidr(value, f"spec.podCIDRs[{i}]", errors)
        if len(ranges) > 1:
            _check_families(ranges, "spec.podCIDRs", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        _check_changes(new, old, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_changes(new, old, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_warnings(obj["spec"]))

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


def _mirror_pod_cidr(spec: Object) -> None:
    """`podCIDR` is the first of `podCIDRs`; where they differ the single one counts."""
    single, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not many or many[0] != single):
        spec["podCIDRs"] = [single]
    elif many and not single:
        spec["podCIDR"] = many[0]


def _check_families(ranges: Sequence[str], path: str, errors: Errors) -> None:
    """One range of each IP family, at most."""
    families: set[int] = set()
    for i, text in enumerate(ranges):
        network = addresses.parse_cidr(text)
        if network is None:
            why = f"invalid CIDR[{i}]: <nil> (invalid CIDR address: {text})"
            reason = f"invalid PodCIDRs. failed to check with dual stack with error:{why}"
            errors.append(field.internal(path, reason))
            families.clear()
            break
        families.add(network.version)
    if len(families) < 2 or len(ranges) > 2:
        reason = "may specify no more than one CIDR for each IP family"
        errors.append(field.invalid(path, list(ranges), reason))


def _check_amounts(node: Json, errors: Errors) -> None:
    status = node.get("status") or NO_FIELDS
    for kind in ("capacity", "allocatable"):
        for name, text in (status.get(kind) or NO_FIELDS).items():
            check_amount(name, quantity.parse(text), f"status.{kind}.{name}", errors)


def _check_swap(node: Json, errors: Errors) -> None:
    swap = ((node.get("status") or NO_FIELDS).get("nodeInfo") or NO_FIELDS).get("swap") or NO_FIELDS
    if "capacity" in swap:
        check_positive(swap["capacity"], "metadata.nodeSwapStatus.capacity", errors)


def _check_features(node: Json, errors: Errors) -> None:
    """What the kubelet declares it can do: sorted names such as `GuaranteedQoS/resize`, each once."""
    path = "status.declaredFeatures"
    features = (node.get("status") or NO_FIELDS).get("declaredFeatures") or NO_ITEMS
    for i, name in enumerate(features):
        if reason := _feature_name_error(name):
            errors.append(field.invalid(f"{path}[{i}]", name, f"invalid feature name {field.go_quote(name)}: {reason}"))
        if i + 1 < len(features):
            following, at = features[i + 1], f"{path}[{i + 1}]"
            if following == name:
                errors.append(field.duplicate(at, following))
            elif following < name:
                errors.append(field.invalid(at, following, "list must be sorted alphabetically"))


def _feature_name_error(name: str) -> str:
    if len(name) > MAX_FEATURE_NAME:
        return f"must be no more than {MAX_FEATURE_NAME} characters"
    if _is_feature_name(name):
        return ""
    return (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
        "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )


def _check_changes(new: Json, old: Json, errors: Errors) -> None:
    spec, before = new["spec"], old.get("spec") or NO_FIELDS
    _check_amounts(new, errors)
    _check_features(new, errors)
    seen: set[tuple[str, str]] = set()
    for i, address in enumerate((new.get("status") or NO_FIELDS).get("addresses") or NO_ITEMS):
        place = (address.get("type", ""), address.get("address", ""))
        if place in seen:
            value = {"Type": place[0], "Address": place[1]}
            errors.append(field.duplicate(f"status.addresses[{i}]", value))
        seen.add(place)
    _check_ranges_kept(spec.get("podCIDRs") or [], before.get("podCIDRs") or [], errors)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        reason = 'node updates may not change providerID except from "" to valid'
        errors.append(field.forbidden("spec.providerID", reason))
    check_taints(spec.get("taints") or NO_ITEMS, "metadata.taints", errors)
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(field.forbidden("spec.externalID", "may not be updated"))


def _check_ranges_kept(new: Sequence[str], old: Sequence[str], errors: Errors) -> None:
    if not old:
        return
    differing = 1 if len(new) != len(old) else sum(a != b for a, b in zip(new, old, strict=True))
    reason = 'node updates may not change podCIDR except from "" to valid'
    errors.extend(field.forbidden("spec.podCIDRs", reason) for _ in range(differing))


def _warnings(spec: Json) -> Iterator[str]:
    if "configSource" in spec:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for i, value in enumerate(spec.get("podCIDRs") or NO_ITEMS):
        yield from addresses.cidr_warnings(value, f"spec.podCIDRs[{i}]")


NODE = NodeStrategy()
