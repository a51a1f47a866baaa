"""ResourceQuotas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.resource_lists import check_amounts, round_up
from apiserver.resources.resource_names import QUOTA_RESOURCES, check_quota_resource_name, is_quota_huge_pages
from kubeloop.apimachinery import field, quantity, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
)
EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
COMPUTE = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
COMPARED = ("cpu", "memory", "ephemeral-storage")


class ResourceQuotaStrategy(PlainKind):
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
        for holder, names in ((spec, ("hard",)), (status, ("hard", "used"))):
            for name in names:
                if name in holder:
                    round_up(holder[name])

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        hard = spec.get("hard") or NO_FIELDS
        check_amounts(hard, check_quota_resource_name, "spec.hard", errors)
        _check_scopes(spec.get("scopes") or NO_ITEMS, hard, errors)
        if "scopeSelector" in spec:
            _check_scope_selector(spec, hard, "spec.scopeSelector.matchExpressions", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        scopes = new["spec"].get("scopes")
        if set(scopes or NO_ITEMS) != set(old["spec"].get("scopes") or NO_ITEMS):
            errors.append(field.invalid("spec.scopes", scopes, validation.IMMUTABLE))

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        for name in ("hard", "used"):
            amounts = (new.get("status") or NO_FIELDS).get(name) or NO_FIELDS
            check_amounts(amounts, check_quota_resource_name, f"status.{name}", errors)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return ()

    def warnings(self, obj: Object) -> Sequence[str]:
        hard = obj["spec"].get("hard") or NO_FIELDS
        warnings = []
        for name in COMPARED:
            request = f"requests.{name}"
            if request not in hard and name != "ephemeral-storage":
                request = name
            limit = f"limits.{name}"
            if request in hard and limit in hard and quantity.parse(hard[request]) > quantity.parse(hard[limit]):
                warnings.append(
                    f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
                )
        return warnings


def _check_scopes(scopes: Sequence[str], hard: Json, errors: Errors) -> None:
    path = "spec.scopes"
    for scope in scopes:
        if scope not in SCOPES:
            errors.append(field.invalid(path, list(scopes), "unsupported scope"))
        for name in sorted(hard):
            if not _fits(scope, name):
                errors.append(field.invalid(path, list(scopes), "unsupported scope applied to resource"))
    _check_conflicts(set(scopes), path, list(scopes), errors)


def _check_scope_selector(spec: Json, hard: Json, path: str, errors: Errors) -> None:
    expressions = (spec["scopeSelector"] or NO_FIELDS).get("matchExpressions") or NO_ITEMS
    for expression in expressions:
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        if scope not in SCOPES:
            errors.append(field.invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for name in sorted(hard):
            if not _fits(scope, name):
                value = {"MatchExpressions": [_go_expression(e) for e in expressions]}
                errors.append(field.invalid(path, value, "unsupported scope applied to resource"))
        if scope in EXISTS_ONLY and operator != "Exists":
            reason = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort "
                "or ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors.append(field.invalid(f"{path}.operator", operator, reason))
        _check_values(operator, expression.get("values"), path, errors)
    scopes = {expression.get("scopeName", "") for expression in expressions}
    _check_conflicts(scopes, path, spec.get("scopes"), errors)


def _check_values(operator: str, values: Any, path: str, errors: Errors) -> None:
    if operator in ("In", "NotIn"):
        if not values:
            reason = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(field.required(f"{path}.values", reason))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            reason = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(field.invalid(f"{path}.values", values, reason))
    else:
        errors.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))


def _check_conflicts(scopes: set[str], path: str, value: Any, errors: Errors) -> None:
    for pair in CONFLICTS:
        if scopes.issuperset(pair):
            errors.append(field.invalid(path, value, "conflicting scopes"))


def _fits(scope: str, name: str) -> bool:
    """Whether a quota of this scope can count this resource; resources of others always can."""
    if name not in QUOTA_RESOURCES and not is_quota_huge_pages(name):
        return True
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return name == "pods" or name in COMPUTE or scope not in SCOPES


def _go_expression(expression: Json) -> Json:
    return {
        "ScopeName": expression.get("scopeName", ""),
        "Operator": expression.get("operator", ""),
        "Values": expression.get("values"),
    }


RESOURCE_QUOTA = ResourceQuotaStrategy()
