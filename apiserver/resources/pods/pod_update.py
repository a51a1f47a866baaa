"""What may change about a pod once it exists: images, deadlines, tolerations, and gates while it is held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.comparison import same
from apiserver.resources.internal_types import internal_diff
from apiserver.resources.pods.affinity import REQUIRED
from apiserver.resources.pods.annotations import check_annotation_changes
from apiserver.resources.pods.tolerations import check_tolerations
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
MAX_INT32 = 2**31 - 1


def check_pod_update(new: Object, old: Object, errors: Errors) -> None:
    """Everything but the pod as such, which `check_pod` looks at."""
    check_annotation_changes(new, old, errors)
    new_spec, old_spec = new["spec"], old["spec"]
    if new_spec == old_spec:
        return
    for list_name in ("containers", "initContainers"):
        if len(new_spec.get(list_name) or NO_ITEMS) != len(old_spec.get(list_name) or NO_ITEMS):
            reason = "pod updates may not add or remove containers"
            errors.append(field.forbidden(f"spec.{list_name}", reason))
            return
        _check_images(new_spec.get(list_name) or NO_ITEMS, f"spec.{list_name}", errors)
    if not _check_deadline(new_spec, old_spec, errors):
        return
    _check_tolerations_kept(new_spec, old_spec, errors)
    _check_gates_removed(new_spec, old_spec, errors)
    if same(new_spec, old_spec):
        return
    rest = _without_what_may_change(new_spec, old_spec)
    if old_spec.get("schedulingGates"):
        _check_directives_narrowed(rest, old_spec, errors)
    if not same(rest, old_spec):
        reason = f"pod updates may not change fields other than {','.join(UPDATABLE)}"
        errors.append(field.forbidden("spec", f"{reason}\n{internal_diff('PodSpec', old_spec, rest)}"))


def _check_images(containers: Sequence[Json], path: str, errors: Errors) -> None:
    for i, container in enumerate(containers):
        image = container.get("image", "")
        if not image:
            errors.append(field.required(f"{path}[{i}].image"))
        if image != image.strip():
            reason = "must not have leading or trailing whitespace"
            errors.append(field.invalid(f"{path}[{i}].image", image, reason))


def _check_deadline(new: Json, old: Json, errors: Errors) -> bool:
    """A deadline may come nearer, not move away; False ends the validation."""
    before, after, path = (
        old.get("activeDeadlineSeconds"),
        new.get("activeDeadlineSeconds"),
        "spec.activeDeadlineSeconds",
    )
    if after is None:
        if before is not None:
            errors.append(field.invalid(path, None, "must not update from a positive integer to nil value"))
        return True
    if not 0 <= after <= MAX_INT32:
        errors.append(field.invalid(path, after, f"must be between 0 and {MAX_INT32}, inclusive"))
        return False
    if before is not None and before < after:
        errors.append(field.invalid(path, after, "must be less than or equal to previous value"))
        return False
    return True


def _check_tolerations_kept(new: Json, old: Json, errors: Errors) -> None:
    """Where none is lost, they are looked at a second time: upstream says their faults twice."""

    def but_seconds(toleration: Json) -> Json:
        return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}

    kept = [but_seconds(toleration) for toleration in new.get("tolerations") or NO_ITEMS]
    if any(but_seconds(toleration) not in kept for toleration in old.get("tolerations") or NO_ITEMS):
        reason = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(field.forbidden("spec.tolerations", reason))
        return
    check_tolerations(new.get("tolerations") or NO_ITEMS, "spec.tolerations", errors)


def _check_gates_removed(new: Json, old: Json, errors: Errors) -> None:
    before = {gate.get("name", "") for gate in old.get("schedulingGates") or NO_ITEMS}
    places = {gate.get("name", ""): i for i, gate in enumerate(new.get("schedulingGates") or NO_ITEMS)}
    for name, i in places.items():
        if name not in before:
            reason = f"only deletion is allowed, but found new scheduling gate '{name}'"
            errors.append(field.forbidden(f"spec.schedulingGates[{i}].name", reason))


def _without_what_may_change(new: Json, old: Json) -> Object:
    """The new spec with the old values of all that may change: what still differs may not."""
    rest = dict(new)
    for list_name in ("containers", "initContainers"):
        if new.get(list_name):
            pairs = zip(new[list_name], old[list_name], strict=True)
            rest[list_name] = [container | {"image": before.get("image", "")} for container, before in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest.pop(name, None)
        if name in old:
            rest[name] = old[name]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return rest


def _check_directives_narrowed(rest: Object, old: Json, errors: Errors) -> None:
    """While gates hold a pod back, where it may run can still be narrowed; what was checked is put back in `rest`."""
    new_selector, old_selector = rest.get("nodeSelector") or NO_FIELDS, old.get("nodeSelector") or NO_FIELDS
    if new_selector != old_selector:
        if any(new_selector.get(key) != value for key, value in old_selector.items()):
            reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(field.invalid("spec.nodeSelector", dict(new_selector) or None, reason))
        _put_back(rest, old, "nodeSelector")
    new_affinity, old_affinity = rest.get("affinity") or {}, old.get("affinity") or {}
    new_nodes, old_nodes = new_affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if not same(new_nodes, old_nodes):
        _check_node_affinity_narrowed(new_nodes or NO_FIELDS, old_nodes or NO_FIELDS, errors)
        affinity = {name: value for name, value in new_affinity.items() if name != "nodeAffinity"}
        if old_nodes is not None:
            affinity["nodeAffinity"] = old_nodes
        rest.pop("affinity", None)
        if affinity or "affinity" in old:
            rest["affinity"] = affinity


def _check_node_affinity_narrowed(new: Json, old: Json, errors: Errors) -> None:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    old_terms = (old.get(REQUIRED) or NO_FIELDS).get("nodeSelectorTerms") or []
    new_terms = (new.get(REQUIRED) or NO_FIELDS).get("nodeSelectorTerms") or []
    if not old_terms:
        return
    if len(old_terms) != len(new_terms):
        reason = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(field.invalid(path, _go_terms(new_terms) or None, reason))
        return
    for i, (new_term, old_term) in enumerate(zip(new_terms, old_terms, strict=True)):
        if not _only_adds(new_term, old_term):
            reason = "only additions are allowed (no mutations or deletions)"
            errors.append(field.invalid(f"{path}[{i}]", _go_terms([new_term])[0], reason))


def _only_adds(new: Json, old: Json) -> bool:
    lists = ("matchExpressions", "matchFields")
    if not any(old.get(name) for name in lists):
        return not any(new.get(name) for name in lists)
    return all((new.get(name) or [])[: len(old.get(name) or [])] == (old.get(name) or []) for name in lists)


def _go_terms(terms: Sequence[Json]) -> list[Any]:
    def requirements(term: Json, name: str) -> list[Json] | None:
        return [
            {"Key": r.get("key", ""), "Operator": r.get("operator", ""), "Values": r.get("values")}
            for r in term.get(name) or NO_ITEMS
        ] or None

    return [
        {"MatchExpressions": requirements(t, "matchExpressions"), "MatchFields": requirements(t, "matchFields")}
        for t in terms
    ]


def _put_back(rest: Object, old: Json, name: str) -> None:
    rest.pop(name, None)
    if name in old:
        rest[name] = old[name]
