"""Roles and cluster roles: what their rules must say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_label_selector
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field, selectors, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


class RoleStrategy(PlainKind):
    """`namespaced` roles cannot grant paths of the server itself."""

    rechecks_object = True
    allow_create_on_update = True

    def __init__(self, namespaced: bool) -> None:
        self.namespaced = namespaced

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.path_segment_errors(name)

    def check(self, obj: Object, errors: Errors) -> None:
        for i, rule in enumerate(obj.get("rules") or NO_ITEMS):
            _check_rule(rule, self.namespaced, f"rules[{i}]", errors)
        if (aggregation := obj.get("aggregationRule")) is not None:
            _check_aggregation(aggregation, "aggregationRule.clusterRoleSelectors", errors)


def _check_rule(rule: Json, namespaced: bool, path: str, errors: Errors) -> None:
    if not rule.get("verbs"):
        errors.append(field.required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        at = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(field.invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            reason = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(field.invalid(at, urls, reason))
        return
    if not rule.get("apiGroups"):
        errors.append(field.required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(field.required(f"{path}.resources", "resource rules must supply at least one resource"))


def _check_aggregation(aggregation: Json, path: str, errors: Errors) -> None:
    wanted = aggregation.get("clusterRoleSelectors") or NO_ITEMS
    if not wanted:
        reason = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(field.required(path, reason))
    for i, selector in enumerate(wanted):
        check_label_selector(selector, f"{path}[{i}]", errors)
        try:
            selectors.from_label_selector(selector)
        except selectors.SelectorError:
            errors.append(field.invalid(f"{path}[{i}]", None, "invalid label selector."))


ROLE = RoleStrategy(namespaced=True)
CLUSTER_ROLE = RoleStrategy(namespaced=False)
