"""Bindings of admission policies: where a policy applies, with which parameters, and what a violation leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.admissionregistration.reserved_names import reserved_name_warnings
from apiserver.resources.admissionregistration.rules import (
    check_match_resources,
    check_mutating_operations,
    default_match_resources,
)
from apiserver.resources.checks import (
    NO_ITEMS,
    Errors,
    check_choice,
    check_dns_subdomain,
    check_label_selector,
    check_one_of,
    check_with,
)
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

ACTIONS = ("Audit", "Deny", "Warn")
DENY_AND_WARN = (
    "must not contain both Deny and Warn "
    "(repeating the same validation failure information in the API response and headers serves no purpose)"
)
EXCLUSIVE = "name and selector are mutually exclusive"


class PolicyBindingStrategy(SpecKind):
    """`mutating` bindings take no actions, and match only what comes in."""

    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def __init__(self, mutating: bool) -> None:
        self.mutating = mutating

    def blank_status(self, obj: Object) -> Any:
        return None

    def default(self, obj: Object) -> None:
        if (match := obj.setdefault("spec", {}).get("matchResources")) is not None:
            default_match_resources(match)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        if policy := spec.get("policyName"):
            check_dns_subdomain(policy, "spec.policyName", errors)
        else:
            errors.append(field.required("spec.policyName"))
        if (reference := spec.get("paramRef")) is not None:
            _check_parameters(reference, "spec.paramRef", errors)
        if (match := spec.get("matchResources")) is not None:
            check_match_resources(match, "spec.matchResources", errors)
            if self.mutating:
                check_mutating_operations(match, "spec.matchResources", errors)
        if not self.mutating:
            _check_actions(spec.get("validationActions") or NO_ITEMS, "spec.validationActions", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return reserved_name_warnings(obj)


def _check_parameters(reference: Json, path: str, errors: Errors) -> None:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name:
        check_with(validation.path_segment_errors(name), name, f"{path}.name", errors)
        if selector is not None:
            errors.append(field.forbidden(f"{path}.name", EXCLUSIVE))
    if selector is not None:
        check_label_selector(selector, f"{path}.selector", errors)
        if name:
            errors.append(field.forbidden(f"{path}.selector", EXCLUSIVE))
    elif not name:
        errors.append(field.required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    check_choice(action, ("Deny", "Allow"), f"{path}.parameterNotFoundAction", errors)


def _check_actions(actions: Sequence[str], path: str, errors: Errors) -> None:
    for i, action in enumerate(actions):
        check_one_of(action, ACTIONS, f"{path}[{i}]", errors)
        if action in actions[:i]:
            errors.append(field.duplicate(f"{path}[{i}]", action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(field.invalid(path, actions, DENY_AND_WARN))
    if not actions:
        errors.append(field.required(path, "at least one validation action is required"))


VALIDATING_POLICY_BINDING = PolicyBindingStrategy(mutating=False)
MUTATING_POLICY_BINDING = PolicyBindingStrategy(mutating=True)
