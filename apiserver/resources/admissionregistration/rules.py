"""Which requests a webhook or policy is asked about: operations, groups, versions, resources and selectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_label_selector, check_one_of, check_with
from apiserver.resources.filling import fill
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

ALL = "*"
OPERATIONS = (ALL, "CONNECT", "CREATE", "DELETE", "UPDATE")
MUTATING_OPERATIONS = (ALL, "CONNECT", "CREATE", "UPDATE")
SCOPES = (ALL, "Cluster", "Namespaced")
MATCH_POLICIES = ("Equivalent", "Exact")
FAILURE_POLICIES = ("Fail", "Ignore")
RULE_LISTS = ("resourceRules", "excludeResourceRules")


def default_rules(rules: Sequence[Object]) -> None:
    for rule in rules:
        fill(rule, {"scope": ALL})


def default_match_resources(match: Object) -> None:
    fill(match, {"matchPolicy": "Equivalent"})
    for name in ("namespaceSelector", "objectSelector"):
        match.setdefault(name, {})
    for name in RULE_LISTS:
        default_rules(match.get(name) or [])


def check_match_resources(match: Json, path: str, errors: Errors) -> None:
    check_one_of(match["matchPolicy"], MATCH_POLICIES, f"{path}.matchPolicy", errors)
    for name in ("namespaceSelector", "objectSelector"):
        check_label_selector(match.get(name), f"{path}.{name}", errors)
    for name in RULE_LISTS:
        for i, rule in enumerate(match.get(name) or NO_ITEMS):
            _check_resource_names(rule.get("resourceNames") or NO_ITEMS, f"{path}.{name}[{i}].resourceNames", errors)
            check_rule(rule, f"{path}.{name}[{i}]", errors)


def check_mutating_operations(match: Json, path: str, errors: Errors) -> None:
    """Only what comes in can be changed."""
    for rule in match.get("resourceRules") or NO_ITEMS:
        for operation in rule.get("operations") or NO_ITEMS:
            check_one_of(operation, MUTATING_OPERATIONS, f"{path}.resourceRules.operations", errors)


def check_rule(rule: Json, path: str, errors: Errors) -> None:
    operations = rule.get("operations") or []
    _check_list(operations, "operations", f"{path}.operations", errors)
    for i, operation in enumerate(operations):
        check_one_of(operation, OPERATIONS, f"{path}.operations[{i}]", errors)
    _check_list(rule.get("apiGroups") or [], "API groups", f"{path}.apiGroups", errors)
    versions = rule.get("apiVersions") or []
    _check_list(versions, "API versions", f"{path}.apiVersions", errors)
    errors.extend(field.required(f"{path}.apiVersions[{i}]") for i, version in enumerate(versions) if not version)
    _check_resources(rule.get("resources") or [], f"{path}.resources", errors)
    if "scope" in rule:
        check_one_of(rule["scope"], SCOPES, f"{path}.scope", errors)


def _check_list(values: Sequence[str], noun: str, path: str, errors: Errors) -> None:
    if not values:
        errors.append(field.required(path))
    if len(values) > 1 and ALL in values:
        errors.append(field.invalid(path, values, f"if '*' is present, must not specify other {noun}"))


def _check_resources(resources: Sequence[str], path: str, errors: Errors) -> None:
    """`pods`, `pods/status`, and stars for either part, which leave no room for what they include."""
    if not resources:
        errors.append(field.required(path))
    all_of: set[str] = set()  # resources named with `/*`
    everywhere: set[str] = set()  # subresources named with `*/`
    has_plain = False
    for i, name in enumerate(resources):
        resource, slash, subresource = name.partition("/")
        if not name:
            errors.append(field.required(f"{path}[{i}]"))
            continue
        if not slash:
            has_plain = name != ALL
            continue
        for star, taken in ((f"{resource}/*", resource in all_of), (f"*/{subresource}", subresource in everywhere)):
            if taken:
                reason = f"if '{star}' is present, must not specify {name}"
                errors.append(field.invalid(f"{path}[{i}]", name, reason))
        if subresource == ALL:
            all_of.add(resource)
        if resource == ALL:
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(field.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if ALL in resources and has_plain:
        reason = "if '*' is present, must not specify other resources without subresources"
        errors.append(field.invalid(path, resources, reason))


def _check_resource_names(names: Sequence[str], path: str, errors: Errors) -> None:
    for i, name in enumerate(names):
        check_with(validation.path_segment_errors(name), name, f"{path}[{i}]", errors)
        if name in names[:i]:
            errors.append(field.duplicate(f"{path}[{i}]", name))
