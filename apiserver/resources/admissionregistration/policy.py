"""What validating and mutating admission policies have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.resources.admissionregistration.match_conditions import check_expression, check_match_conditions
from apiserver.resources.admissionregistration.rules import (
    FAILURE_POLICIES,
    check_match_resources,
    default_match_resources,
)
from apiserver.resources.checks import NO_ITEMS, Errors, check_one_of
from apiserver.resources.filling import fill
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

if TYPE_CHECKING:
    from kubeloop.cel.policy_expressions import Expressions

Json = Mapping[str, Any]

CEL_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_is_cel_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*").fullmatch


def default_policy(spec: Object) -> None:
    fill(spec, {"failurePolicy": "Fail"})
    if (match := spec.get("matchConstraints")) is not None:
        default_match_resources(match)


def check_policy(spec: Json, path: str, errors: Errors) -> None:
    """What a policy says before it comes to what it does."""
    check_one_of(spec["failurePolicy"], FAILURE_POLICIES, f"{path}.failurePolicy", errors)
    if (kind := spec.get("paramKind")) is not None:
        _check_param_kind(kind, f"{path}.paramKind", errors)
    match, at = spec.get("matchConstraints"), f"{path}.matchConstraints"
    if match is None:
        errors.append(field.required(at))
    else:
        check_match_resources(match, at, errors)
        if not match.get("resourceRules"):
            errors.append(field.required(f"{at}.resourceRules"))


def check_conditions_and_variables(
    spec: Json, path: str, errors: Errors, *, always_composed: bool
) -> tuple[Expressions, Expressions]:
    """What a policy's other expressions may name comes back, then what its messages may, who ask no authorizer.

    Without variables there is no `variables`, unless `always_composed`.
    """
    from kubeloop.cel.policy_expressions import Composition, Expressions

    has_params = spec.get("paramKind") is not None
    conditions, variables = spec.get("matchConditions") or NO_ITEMS, spec.get("variables") or NO_ITEMS
    check_match_conditions(conditions, f"{path}.matchConditions", errors, has_params=has_params)
    plain = Expressions.of(has_params=has_params)
    messages = Expressions.of(has_params=has_params, has_authorizer=False)
    if not variables and not always_composed:
        return plain, messages
    composition = Composition.of(plain, variables)
    _check_variables(variables, composition.problems, f"{path}.variables", errors)
    return plain.with_variables(composition.types), messages.with_variables(composition.types)


def _check_variables(variables: Sequence[Json], problems: Mapping[int, str], path: str, errors: Errors) -> None:
    for i, variable in enumerate(variables):
        name, at = variable.get("name", ""), f"{path}[{i}]"
        if not name.strip():
            errors.append(field.required(f"{at}.name", "name is not specified"))
        elif not _is_cel_identifier(name) or name in CEL_RESERVED:
            errors.append(field.invalid(f"{at}.name", name, "must be a valid CEL identifier"))
        expression = variable.get("expression", "")
        if check_expression(expression, f"{at}.expression", errors, reason="expression is not specified"):
            errors.extend(field.invalid(f"{at}.expression", expression, problems[i]) for _ in [i] if i in problems)


def _check_param_kind(kind: Json, path: str, errors: Errors) -> None:
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    _check_api_version(api_version, f"{path}.apiVersion", errors)
    if not name:
        errors.append(field.required(f"{path}.kind"))
    elif reasons := validation.dns1035_label_errors(name.lower()):
        reason = f"may have mixed case, but should otherwise match: {','.join(reasons)}"
        errors.append(field.invalid(f"{path}.kind", name, reason))


def _check_api_version(api_version: str, path: str, errors: Errors) -> None:
    if not api_version:
        errors.append(field.required(path))
        return
    if api_version.count("/") > 1:
        errors.append(field.invalid(path, api_version, f"unexpected GroupVersion string: {api_version}"))
        return
    group, _, version = api_version.rpartition("/")
    if group and (reasons := validation.dns_subdomain_errors(group)):
        errors.append(field.invalid(path, group, ",".join(reasons)))
    if not version:
        errors.append(field.invalid(path, api_version, "version must be specified"))
    elif reasons := validation.dns1035_label_errors(version):
        errors.append(field.invalid(path, version, ",".join(reasons)))
