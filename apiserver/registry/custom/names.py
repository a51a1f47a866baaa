"""Which of the names a CustomResourceDefinition wants it gets: no name serves two definitions of a group.

Pure; `definitions.py` writes down what it answers. Facts: apiextensions-apiserver/pkg/controller/status (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.ca_bundle import ca_bundle_error
from kubeloop.apimachinery.meta import Object, ReadOnlyObject

NAMES_ACCEPTED, ESTABLISHED, TERMINATING = "NamesAccepted", "Established", "Terminating"
APPROVED = "KubernetesAPIApprovalPolicyConformant"
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED_DOMAINS = ("k8s.io", "kubernetes.io")
_NAMES = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)
_KINDS = ("kind", "listKind")

Names = Mapping[str, Any]


def is_condition(definition: ReadOnlyObject, type_: str) -> bool:
    return conditions.is_true(conditions.conditions_of(definition), type_)


def status_with_names(definition: ReadOnlyObject, others: Iterable[ReadOnlyObject], now: str) -> Object:
    """The status that says which names are accepted; `others` are the group's other definitions.

    Where a definition wants just the names it has, nothing is decided anew: that some were refused to it once stays
    written until it wants others, as with upstream.
    """
    status = definition.get("status") or {}
    wanted, held = definition["spec"]["names"], status.get("acceptedNames") or {}
    found: list[Object] = []
    if not _are_same(wanted, held):
        held, refusal = _accepted(wanted, held, *_taken(others))
        found = _conditions(definition, refusal)
    if (approval := _approval(definition)) is not None:
        found.append(approval)
    if not found:
        return dict(status)
    listed = conditions.conditions_of(definition)
    for condition in found:
        listed = conditions.set_condition(listed, condition, now)
    return {**status, "acceptedNames": held, "conditions": listed}


def _are_same(wanted: Names, held: Names) -> bool:
    return {name: value for name, value in wanted.items() if value} == {n: v for n, v in held.items() if v}


def established(definition: ReadOnlyObject, now: str) -> Object:
    """The status of a definition whose kinds are served from now on; none is whose converter could not be trusted."""
    condition = {"type": ESTABLISHED, "status": "True", "reason": "InitialNamesAccepted"}
    condition["message"] = "the initial names have been accepted"
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    if ca_bundle_error((webhook.get("clientConfig") or {}).get("caBundle") or ""):
        condition |= {"status": "False", "reason": "InvalidCABundle"}
        condition["message"] = "The conversion webhook CABundle is invalid"
    return {
        **definition["status"],
        "conditions": conditions.set_condition(conditions.conditions_of(definition), condition, now),
    }


def _taken(others: Iterable[ReadOnlyObject]) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        accepted = (other.get("status") or {}).get("acceptedNames") or {}
        names.update(filter(None, (accepted.get("plural"), accepted.get("singular"), *_list(accepted, "shortNames"))))
        kinds.update(filter(None, (accepted.get("kind"), accepted.get("listKind"))))
    return names, kinds


def _accepted(wanted: Names, held: Names, taken: set[str], taken_kinds: set[str]) -> tuple[Object, tuple[str, str]]:
    """The names as far as they are free, and reason and message of the last that is not."""
    refusal, granted = ("", ""), dict(held)
    for name, reason in _NAMES:
        used = taken_kinds if name in _KINDS else taken
        if message := _refusal(name, wanted, held, used):
            refusal = (reason, message)
        else:
            granted[name] = wanted.get(name)
    granted["categories"] = wanted.get("categories")
    in_order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {name: granted[name] for name in in_order if granted.get(name) or name in ("plural", "kind")}, refusal


def _refusal(name: str, wanted: Names, held: Names, used: set[str]) -> str:
    if name == "shortNames":
        mine = _list(held, name)
        found = [f'"{n}" is already in use' for n in _list(wanted, name) if n not in mine and n in used]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""
    value = wanted.get(name) or ""
    return f'"{value}" is already in use' if value != (held.get(name) or "") and value in used else ""


def _conditions(definition: ReadOnlyObject, refusal: tuple[str, str]) -> list[Object]:
    reason, message = refusal
    found: list[Object] = []
    if reason:
        found.append({"type": NAMES_ACCEPTED, "status": "False", "reason": reason, "message": message})
    else:
        no_conflicts = {"reason": "NoConflicts", "message": "no conflicts found"}
        found.append({"type": NAMES_ACCEPTED, "status": "True", **no_conflicts})
    if not is_condition(definition, ESTABLISHED):
        if not reason:
            why = {"reason": "Installing", "message": "the initial names have been accepted"}
            found.append({"type": ESTABLISHED, "status": "False", **why})
        elif conditions.get_condition(conditions.conditions_of(definition), ESTABLISHED) is None:
            why = {"reason": "NotAccepted", "message": "not all names are accepted"}
            found.append({"type": ESTABLISHED, "status": "False", **why})
    return found


def _approval(definition: ReadOnlyObject) -> Object | None:
    """What is said of kinds in the community's own domains: who approved of them."""
    group = definition["spec"]["group"]
    if not any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED_DOMAINS):
        return None
    annotation = (definition["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    said = {"type": APPROVED, "status": "False"}
    if not annotation:
        advice = "see https://github.com/kubernetes/enhancements/pull/1111"
        message = f'protected groups must have approval annotation "{_APPROVAL}", {advice}'
        return {**said, "reason": "MissingAnnotation", "message": message}
    if annotation.startswith("unapproved"):
        return {**said, "reason": "UnapprovedAnnotation", "message": f'not approved: "{annotation}"'}
    parts = urlsplit(annotation)
    if parts.scheme and parts.netloc:
        message = f"approved in {annotation}"
        return {**said, "status": "True", "reason": "ApprovedAnnotation", "message": message}
    advice = "see https://github.com/kubernetes/enhancements/pull/1111"
    message = (
        f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or a reason starting with '
        f'"unapproved", {advice}'
    )
    return {**said, "reason": "InvalidAnnotation", "message": message}


def _list(names: Names, name: str) -> list[str]:
    return list(names.get(name) or ())
