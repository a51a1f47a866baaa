"""ValidatingAdmissionPolicies: expressions that must hold of what comes in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.resources.admissionregistration.match_conditions import check_compiles, check_expression
from apiserver.resources.admissionregistration.policy import (
    check_conditions_and_variables,
    check_policy,
    default_policy,
)
from apiserver.resources.admissionregistration.reserved_names import reserved_name_warnings
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_one_of, check_qualified_name, check_required
from apiserver.resources.conditions import check_conditions
from apiserver.resources.kinds import SpecKind, carry_over
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

if TYPE_CHECKING:
    from kubeloop.cel.policy_expressions import Expressions

Json = Mapping[str, Any]

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
MAX_ANNOTATIONS = 20
MAX_VALUE_EXPRESSION_BYTES = 5 * 1024
NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
_has_line_break = re.compile(r"[\n\r]").search


class ValidatingPolicyStrategy(SpecKind):
    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def default(self, obj: Object) -> None:
        default_policy(obj.setdefault("spec", {}))

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_policy(spec, "spec", errors)
        expressions, messages = check_conditions_and_variables(spec, "spec", errors, always_composed=False)
        validations, annotations = spec.get("validations") or NO_ITEMS, spec.get("auditAnnotations") or NO_ITEMS
        if not validations and not annotations:
            errors.append(field.required("spec.validations", NOTHING_TO_DO))
            errors.append(field.required("spec.auditAnnotations", NOTHING_TO_DO))
        for i, validation in enumerate(validations):
            _check_validation(validation, expressions, messages, f"spec.validations[{i}]", errors)
        _check_annotations(annotations, obj["metadata"].get("name", ""), expressions, "spec.auditAnnotations", errors)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        carry_over(new["metadata"], old["metadata"], "labels", "annotations", "finalizers", "ownerReferences")

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        found = (status.get("typeChecking") or NO_FIELDS).get("expressionWarnings") or NO_ITEMS
        for i, warning in enumerate(found):
            at = f"status.typeChecking.expressionWarnings[{i}]"
            check_required(warning.get("warning"), f"{at}.warning", errors)
            check_required(warning.get("fieldRef", "").strip(), f"{at}.fieldRef", errors)
        check_conditions(status.get("conditions") or NO_ITEMS, "status.conditions", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return reserved_name_warnings(obj)


def _check_validation(
    validation: Json, expressions: Expressions, messages: Expressions, path: str, errors: Errors
) -> None:
    from kubeloop.cel.policy_expressions import CONDITION, MESSAGE

    expression = validation.get("expression", "")
    if check_expression(expression, f"{path}.expression", errors, reason="expression is not specified"):
        check_compiles(expression, expressions, CONDITION, f"{path}.expression", errors)
    for name in ("messageExpression", "message"):
        text = validation.get(name, "")
        if text and not text.strip():
            errors.append(field.invalid(f"{path}.{name}", text, "must be non-empty if specified"))
        elif name == "message" and _has_line_break(text.strip()):
            errors.append(field.invalid(f"{path}.{name}", text, "must not contain line breaks"))
        elif name == "messageExpression" and text:
            check_compiles(text, messages, MESSAGE, f"{path}.{name}", errors)
    if "reason" in validation:
        check_one_of(validation["reason"], REASONS, f"{path}.reason", errors)


def _check_annotations(
    annotations: Sequence[Json], policy_name: str, expressions: Expressions, path: str, errors: Errors
) -> None:
    """Their keys are those of audit annotations in the policy's name."""
    from kubeloop.cel.policy_expressions import ANNOTATION

    if len(annotations) > MAX_ANNOTATIONS:
        errors.append(field.invalid(path, annotations, f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"))
    seen: set[str] = set()
    for i, annotation in enumerate(annotations):
        key, value, at = annotation.get("key", ""), annotation.get("valueExpression", ""), f"{path}[{i}]"
        if policy_name:
            check_qualified_name(f"{policy_name}/{key}", f"{at}.key", errors)
        else:
            errors.append(field.invalid(f"{at}.key", key, "requires metadata.name be non-empty"))
        if check_expression(value, f"{at}.valueExpression", errors, reason="valueExpression is not specified"):
            if len(value.strip().encode()) > MAX_VALUE_EXPRESSION_BYTES:
                reason = f"must not exceed {MAX_VALUE_EXPRESSION_BYTES} bytes in length"
                errors.append(field.required(f"{at}.valueExpression", reason))
            else:
                check_compiles(value.strip(), expressions, ANNOTATION, f"{at}.valueExpression", errors, shown=value)
        if key in seen:
            errors.append(field.duplicate(f"{at}.key", key))
        seen.add(key)


VALIDATING_POLICY = ValidatingPolicyStrategy()
