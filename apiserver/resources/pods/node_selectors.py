"""Which nodes: selectors by label and by name, of pods, volumes and storage classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_dns_subdomain, check_label_value, check_qualified_name
from kubeloop.apimachinery import field

Json = Mapping[str, Any]


def check_node_selector(selector: Json, path: str, errors: Errors) -> None:
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        errors.append(field.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
        return
    for i, term in enumerate(terms):
        check_node_selector_term(term, f"{path}.nodeSelectorTerms[{i}]", errors)


def check_node_selector_term(term: Json, path: str, errors: Errors, *, values: bool = True) -> None:
    """`values=False` leaves the values of labels alone: preferences may name impossible ones, with a warning."""
    for i, requirement in enumerate(term.get("matchExpressions") or NO_ITEMS):
        _check_label_requirement(requirement, values, f"{path}.matchExpressions[{i}]", errors)
    for i, requirement in enumerate(term.get("matchFields") or NO_ITEMS):
        _check_field_requirement(requirement, f"{path}.matchFields[{i}]", errors)


def check_preferred_terms(terms: Sequence[Json], path: str, errors: Errors) -> None:
    for i, term in enumerate(terms):
        check_weight(term.get("weight", 0), f"{path}[{i}].weight", errors)
        check_node_selector_term(term.get("preference") or {}, f"{path}[{i}].preference", errors, values=False)


def check_weight(weight: int, path: str, errors: Errors) -> None:
    if not 1 <= weight <= 100:
        errors.append(field.invalid(path, weight, "must be in the range 1-100"))


def _check_label_requirement(requirement: Json, check_values: bool, path: str, errors: Errors) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or NO_ITEMS
    at = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field.required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            reason = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(field.forbidden(at, reason))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(field.required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    check_qualified_name(requirement.get("key", ""), f"{path}.key", errors)
    if check_values:
        for i, value in enumerate(values):
            check_label_value(value, f"{at}[{i}]", errors)


def _check_field_requirement(requirement: Json, path: str, errors: Errors) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or NO_ITEMS
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            reason = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.append(field.required(f"{path}.values", reason))
    else:
        errors.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key", "")
    if key != "metadata.name":
        errors.append(field.invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for i, value in enumerate(values):
        check_dns_subdomain(value, f"{path}.values[{i}]", errors)
