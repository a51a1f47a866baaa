"""The endpoint that changes CPU and memory of a running pod's containers, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.comparison import same
from apiserver.resources.pods.ephemeral_containers import keep_metadata
from apiserver.resources.pods.pod_resources import qos_class
from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION

if TYPE_CHECKING:
    from apiserver.resources.pods.pod import PodStrategy

Json = Mapping[str, Any]

LISTS = ("containers", "initContainers")
RESIZED = ("resources", "resizePolicy")
COMPUTE = ("cpu", "memory")
KINDS = ("requests", "limits")


class Rules:
    """`UpdateRules` of /resize."""

    def __init__(self, strategy: PodStrategy) -> None:
        self._strategy = strategy

    def prepare(self, new: Object, old: Object) -> None:
        """Keep everything but resources; where containers do not match, validation is left to say so."""
        new_spec, old_spec = new["spec"], old["spec"]
        if all(len(new_spec.get(n) or NO_ITEMS) == len(old_spec.get(n) or NO_ITEMS) for n in LISTS):
            spec = dict(old_spec)
            for list_name in LISTS:
                if old_spec.get(list_name):
                    spec[list_name] = _with_new_resources(new_spec[list_name], old_spec[list_name])
            spec.pop("resources", None)
            if "resources" in new_spec:
                spec["resources"] = new_spec["resources"]
            new["spec"] = spec
            new["metadata"] = keep_metadata(new, old)
        self._strategy.prepare_for_update(new, old)

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]:
        from apiserver.resources.pods.pod import check_pod

        if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or NO_FIELDS):
            return [field.forbidden("", "static pods cannot be resized")]
        if (old["spec"].get("os") or NO_FIELDS).get("name") == "windows":
            return [field.forbidden("", "windows pods cannot be resized")]
        errors: Errors = []
        check_pod(new, errors)
        _check_resize(new, old, errors)
        return errors


def _with_new_resources(new: Sequence[Json], old: Sequence[Json]) -> list[Any]:
    if any(a.get("name") != b.get("name") for a, b in zip(new, old, strict=True)):
        return list(new)
    merged = []
    for after, before in zip(new, old, strict=True):
        container = {name: value for name, value in before.items() if name not in RESIZED}
        container.update({name: after[name] for name in RESIZED if name in after})
        merged.append(container)
    return merged


def _check_resize(new: Object, old: Object, errors: Errors) -> None:
    new_spec, old_spec = new["spec"], old["spec"]
    old_class = (old.get("status") or NO_FIELDS).get("qosClass") or qos_class(old_spec)
    if old_class != qos_class(new_spec):
        value = (new.get("status") or NO_FIELDS).get("qosClass", "")
        errors.append(field.invalid("spec", value, "Pod QOS Class may not change as a result of resizing"))
    if not _node_can_resize(old):
        errors.append(field.forbidden("spec", "Pod running on node without support for resize"))
    rest = dict(new_spec)
    if _has_pod_level(new_spec) or _has_pod_level(old_spec):
        _check_pod_level(rest, old_spec, errors)
    if not _check_same_containers(new_spec, old_spec, errors):
        return
    for list_name in ("initContainers", "containers"):
        for i, (after, before) in enumerate(_pairs(new_spec, old_spec, list_name)):
            _check_nothing_removed(after, before, f"spec.{list_name}[{i}].resources", errors)
    _check_only_compute(rest, new_spec, old_spec, errors)
    if not errors and not same(rest, old_spec):
        errors.append(field.forbidden("spec", "only cpu and memory resources are mutable"))


def _check_same_containers(new: Json, old: Json, errors: Errors) -> bool:
    before = len(errors)
    for list_name in LISTS:
        if len(new.get(list_name) or NO_ITEMS) != len(old.get(list_name) or NO_ITEMS):
            reason = f"{list_name} may not be added or removed on resize"
            errors.append(field.forbidden(f"spec.{list_name}", reason))
            continue
        for i, (after, former) in enumerate(_pairs(new, old, list_name)):
            if after.get("name") != former.get("name"):
                reason = f"{list_name} may not be renamed or reordered on resize"
                errors.append(field.forbidden(f"spec.{list_name}[{i}].name", reason))
    return len(errors) == before


def _check_nothing_removed(new: Json, old: Json, path: str, errors: Errors) -> None:
    for kind in KINDS:
        if _removed(new.get("resources"), old.get("resources"), kind):
            errors.append(field.forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed"))


def _check_only_compute(rest: Object, new: Json, old: Json, errors: Errors) -> None:
    """Puts the old CPU and memory back into `rest` and says where something else changed too."""
    for list_name in LISTS:
        if list_name not in new:
            continue
        restored = []
        for i, (after, before) in enumerate(_pairs(new, old, list_name)):
            resources = _with_old_compute(after.get("resources"), before.get("resources"))
            resources.pop("claims", None)  # as upstream does: a container with claims is never like before
            container = {**after, "resources": resources}
            if not same(container, before):
                errors.append(_other_change(list_name, i))
            is_plain_init = list_name == "initContainers" and after.get("restartPolicy") != "Always"
            if is_plain_init and not same(after, before):
                _check_no_restart_needed(after, i, errors)
            restored.append(container)
        rest[list_name] = restored


def _other_change(list_name: str, i: int) -> FieldError:
    if list_name == "containers":
        return field.forbidden("spec", "only cpu and memory resources are mutable")
    reason = "only cpu and memory resources for init or sidecar containers are mutable"
    return field.forbidden(f"spec.initContainers[{i}]", reason)


def _check_no_restart_needed(container: Json, i: int, errors: Errors) -> None:
    for policy in container.get("resizePolicy") or NO_ITEMS:
        if policy.get("restartPolicy") == "RestartContainer":
            reason = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            errors.append(field.forbidden(f"spec.initContainers[{i}]", reason))


def _check_pod_level(rest: Object, old: Json, errors: Errors) -> None:
    new_resources, old_resources = rest.get("resources"), old.get("resources")
    if old_resources is not None and new_resources is None:
        errors.append(field.forbidden("spec.resources", "pod-level resources cannot be removed"))
        return
    if old_resources is not None:
        for kind in KINDS:
            if _removed(new_resources, old_resources, kind):
                reason = f"pod-level resource {kind} cannot be removed"
                errors.append(field.forbidden(f"spec.resources.{kind}", reason))
    restored = _with_old_compute(new_resources, old_resources)
    if restored or old_resources is not None:
        rest["resources"] = restored
    else:
        rest.pop("resources", None)
    if not same(rest.get("resources"), old_resources):
        errors.append(field.forbidden("spec", "only cpu and memory resources are mutable at pod-level"))


def _with_old_compute(new: Json | None, old: Json | None) -> Object:
    resources = dict(new or NO_FIELDS)
    for kind in KINDS:
        before = (old or NO_FIELDS).get(kind) or NO_FIELDS
        amounts = {name: text for name, text in (resources.get(kind) or NO_FIELDS).items() if name not in COMPUTE}
        amounts.update({name: before[name] for name in COMPUTE if name in before})
        resources.pop(kind, None)
        if amounts:
            resources[kind] = amounts
    return resources


def _removed(new: Json | None, old: Json | None, kind: str) -> bool:
    now = (new or NO_FIELDS).get(kind) or NO_FIELDS
    return any(name not in now for name in (old or NO_FIELDS).get(kind) or NO_FIELDS)


def _has_pod_level(spec: Json) -> bool:
    resources = spec.get("resources") or NO_FIELDS
    return any(resources.get(kind) for kind in KINDS)


def _node_can_resize(pod: Json) -> bool:
    """A kubelet that can resize reports the resources of running containers."""
    for status in (pod.get("status") or NO_FIELDS).get("containerStatuses") or NO_ITEMS:
        if "running" in (status.get("state") or NO_FIELDS):
            return "resources" in status
    return True


def _pairs(new: Json, old: Json, list_name: str) -> list[tuple[Json, Json]]:
    return list(zip(new.get(list_name) or NO_ITEMS, old.get(list_name) or NO_ITEMS, strict=True))
