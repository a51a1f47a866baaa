"""A container's own restart policy and the rules that decide by exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_one_of
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

POLICIES = ("Always", "Never", "OnFailure")
ACTIONS = ("Restart", "RestartAllContainers")
OPERATORS = ("In", "NotIn")
MAX_RULES = 20
MAX_EXIT_CODES = 255
NEEDS_POLICY = "must specify restartPolicy when restart rules are used"


def check_restart_rules(container: Json, path: str, errors: Errors) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or NO_ITEMS
    if policy is not None:
        check_one_of(policy, POLICIES, f"{path}.restartPolicy", errors)
    elif rules:
        errors.append(field.required(f"{path}.restartPolicy", NEEDS_POLICY))
    if len(rules) > MAX_RULES:
        errors.append(field.too_many(f"{path}.restartPolicyRules", len(rules), MAX_RULES))
    for i, rule in enumerate(rules):
        _check_rule(rule, f"{path}.restartPolicyRules[{i}]", errors)


def check_init_restart_rules(container: Json, path: str, errors: Errors) -> None:
    """As `check_restart_rules`, but an init container's rules are looked at only where it has a policy."""
    if "restartPolicy" in container:
        check_restart_rules(container, path, errors)
    elif container.get("restartPolicyRules"):
        errors.append(field.required(f"{path}.restartPolicy", NEEDS_POLICY))


def _check_rule(rule: Json, path: str, errors: Errors) -> None:
    check_one_of(rule.get("action", ""), ACTIONS, f"{path}.action", errors)
    codes = rule.get("exitCodes")
    if codes is None:
        errors.append(field.required(f"{path}.exitCodes", "must be specified"))
        return
    check_one_of(codes.get("operator", ""), OPERATORS, f"{path}.exitCodes.operator", errors)
    if len(codes.get("values") or NO_ITEMS) > MAX_EXIT_CODES:
        errors.append(field.too_many(f"{path}.exitCodes.values", len(codes["values"]), MAX_EXIT_CODES))
