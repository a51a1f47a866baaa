"""MutatingAdmissionPolicies: expressions that change what comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.resources.admissionregistration.match_conditions import check_compiles, check_expression
from apiserver.resources.admissionregistration.policy import (
    check_conditions_and_variables,
    check_policy,
    default_policy,
)
from apiserver.resources.admissionregistration.reserved_names import reserved_name_warnings
from apiserver.resources.admissionregistration.rules import check_mutating_operations
from apiserver.resources.admissionregistration.webhook_configuration import REINVOCATION_POLICIES
from apiserver.resources.checks import NO_ITEMS, Errors, check_choice
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

if TYPE_CHECKING:
    from kubeloop.cel.policy_expressions import Expressions

Json = Mapping[str, Any]

# Patch type -> the field that says how.
PATCH_TYPES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


class MutatingPolicyStrategy(SpecKind):
    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def blank_status(self, obj: Object) -> Any:
        return None

    def default(self, obj: Object) -> None:
        default_policy(obj.setdefault("spec", {}))

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_policy(spec, "spec", errors)
        check_mutating_operations(spec.get("matchConstraints") or {}, "spec.matchConstraints", errors)
        expressions, _ = check_conditions_and_variables(spec, "spec", errors, always_composed=True)
        expressions = expressions.with_patches()
        mutations = spec.get("mutations") or NO_ITEMS
        if not mutations:
            errors.append(field.required("spec.mutations", "mutations must contain at least one item"))
        for i, mutation in enumerate(mutations):
            _check_mutation(mutation, expressions, f"spec.mutations[{i}]", errors)
        check_choice(spec.get("reinvocationPolicy"), REINVOCATION_POLICIES, "spec.reinvocationPolicy", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return reserved_name_warnings(obj)


def _check_mutation(mutation: Json, expressions: Expressions, path: str, errors: Errors) -> None:
    """The part of its own patch type and no other."""
    from kubeloop.cel.policy_expressions import APPLY_CONFIGURATION, JSON_PATCH

    results = {"ApplyConfiguration": APPLY_CONFIGURATION, "JSONPatch": JSON_PATCH}
    patch_type = mutation.get("patchType", "")
    if patch_type not in PATCH_TYPES:
        check_choice(patch_type, tuple(PATCH_TYPES), f"{path}.patchType", errors)
        return
    for kind, name in sorted(PATCH_TYPES.items(), key=lambda item: item[0] != patch_type):
        part, at = mutation.get(name), f"{path}.{name}"
        if kind == patch_type and part is None:
            errors.append(field.required(at, f"must be specified when patchType is {patch_type}"))
        elif part is not None and kind == patch_type:
            source = part.get("expression", "").strip()
            if check_expression(source, f"{at}.expression", errors):
                check_compiles(source, expressions, [results[kind]], f"{at}.expression", errors)
        elif part is not None:
            reason = f"must not be specified when patchType is {patch_type}"
            errors.append(field.invalid(at, f"{{{name}}}", reason))


MUTATING_POLICY = MutatingPolicyStrategy()
