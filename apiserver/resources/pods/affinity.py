"""Where a pod wants to run: affinity to nodes and to other pods, and even spreading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_ITEMS,
    Errors,
    check_dns_label,
    check_label_selector,
    check_one_of,
    check_positive,
    check_qualified_name,
)
from apiserver.resources.pods.node_selectors import check_node_selector, check_preferred_terms, check_weight
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
POD_AFFINITIES = ("podAffinity", "podAntiAffinity")
WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES = ("Honor", "Ignore")


def check_affinity(affinity: Json, path: str, errors: Errors) -> None:
    if (nodes := affinity.get("nodeAffinity")) is not None:
        if REQUIRED in nodes:
            check_node_selector(nodes[REQUIRED], f"{path}.nodeAffinity.{REQUIRED}", errors)
        check_preferred_terms(nodes.get(PREFERRED) or NO_ITEMS, f"{path}.nodeAffinity.{PREFERRED}", errors)
    for name in POD_AFFINITIES:
        if (pods := affinity.get(name)) is not None:
            _check_pod_affinity(pods, f"{path}.{name}", errors)


def check_spread_constraints(constraints: Sequence[Json], path: str, errors: Errors) -> None:
    for i, constraint in enumerate(constraints):
        at = f"{path}[{i}]"
        key, when = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        check_positive(constraint.get("maxSkew", 0), f"{at}.maxSkew", errors)
        if not key:
            errors.append(field.required(f"{at}.topologyKey", "can not be empty"))
        check_one_of(when, WHEN_UNSATISFIABLE, f"{at}.whenUnsatisfiable", errors)
        if any(
            key == c.get("topologyKey", "") and when == c.get("whenUnsatisfiable", "") for c in constraints[i + 1 :]
        ):
            errors.append(field.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}"))
        _check_min_domains(constraint.get("minDomains"), when, f"{at}.minDomains", errors)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if name in constraint:
                check_one_of(constraint[name], NODE_POLICIES, f"{at}.{name}", errors)
        _check_label_keys(constraint, at, errors)
        check_label_selector(constraint.get("labelSelector"), f"{at}.labelSelector", errors)


def merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """At creation, label keys that a term takes from the pod become requirements with the pod's own values."""
    for constraint in spec.get("topologySpreadConstraints") or NO_ITEMS:
        _merge_keys(constraint, labels)
    affinity = spec.get("affinity") or {}
    for name in POD_AFFINITIES:
        terms = affinity.get(name) or {}
        for weighted in terms.get(PREFERRED) or NO_ITEMS:
            _merge_keys(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get(REQUIRED) or NO_ITEMS:
            _merge_keys(term, labels)


def _merge_keys(term: Object, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for keys_field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(keys_field) or NO_ITEMS:
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector["matchExpressions"] = [*(selector.get("matchExpressions") or NO_ITEMS), requirement]


def _check_pod_affinity(affinity: Json, path: str, errors: Errors) -> None:
    for i, term in enumerate(affinity.get(REQUIRED) or NO_ITEMS):
        _check_pod_term(term, f"{path}.{REQUIRED}[{i}]", errors)
    for i, weighted in enumerate(affinity.get(PREFERRED) or NO_ITEMS):
        at = f"{path}.{PREFERRED}[{i}]"
        check_weight(weighted.get("weight", 0), f"{at}.weight", errors)
        _check_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", errors)


def _check_pod_term(term: Json, path: str, errors: Errors) -> None:
    check_label_selector(term.get("labelSelector"), f"{path}.labelSelector", errors)
    check_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", errors)
    for namespace in term.get("namespaces") or NO_ITEMS:
        check_dns_label(namespace, f"{path}.namespace", errors)
    _check_label_keys(term, path, errors)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(field.required(f"{path}.topologyKey", "can not be empty"))
    check_qualified_name(key, f"{path}.topologyKey", errors)


def _check_label_keys(term: Json, path: str, errors: Errors) -> None:
    """Keys whose values come from the pod itself: not without a selector, not twice in it, not both ways."""
    selector = term.get("labelSelector")
    wanted, unwanted = term.get("matchLabelKeys") or NO_ITEMS, term.get("mismatchLabelKeys") or NO_ITEMS
    for name, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", unwanted)):
        if keys and selector is None:
            reason = "must not be specified when labelSelector is not set"
            errors.append(field.forbidden(f"{path}.{name}", reason))
        elif keys:
            for i, key in enumerate(keys):
                check_qualified_name(key, f"{path}.{name}[{i}]", errors)
    if selector is not None:
        # The pod's value was merged into the selector at creation: a second requirement on the key is the author's.
        selected = set(selector.get("matchLabels") or NO_ITEMS)
        for expression in selector.get("matchExpressions") or NO_ITEMS:
            key = expression.get("key", "")
            if key in wanted and key in selected:
                i = len(wanted) - 1 - list(reversed(wanted)).index(key)
                reason = "exists in both matchLabelKeys and labelSelector"
                errors.append(field.invalid(f"{path}[{i}]", key, reason))
            selected.add(key)
    for i, key in enumerate(wanted):
        if key in unwanted:
            reason = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(field.invalid(f"{path}.matchLabelKeys[{i}]", key, reason))


def _check_min_domains(minimum: int | None, when: str, path: str, errors: Errors) -> None:
    if minimum is None:
        return
    check_positive(minimum, path, errors)
    if when != "DoNotSchedule":
        reason = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
        errors.append(field.invalid(path, minimum, reason))
