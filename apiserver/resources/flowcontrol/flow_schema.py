"""FlowSchemas: which requests go to which priority level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_dns_label, check_dns_subdomain, check_required
from apiserver.resources.filling import fill_empty
from apiserver.resources.flowcontrol.conditions import check_conditions, keep_metadata
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULT_PRECEDENCE = 1000
HIGHEST_PRECEDENCE = 10_000
DISTINGUISHERS = ("ByNamespace", "ByUser")
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
# Kind of subject -> the field that holds it.
SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
ALL = "*"

_EVERYTHING: Json = {
    "resourceRules": [
        {"verbs": [ALL], "apiGroups": [ALL], "resources": [ALL], "clusterScope": True, "namespaces": [ALL]}
    ],
    "nonResourceRules": [{"verbs": [ALL], "nonResourceURLs": [ALL]}],
}
# Those every server has; what they say is fixed.
MANDATORY: Mapping[str, Json] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [{"kind": "Group", "group": {"name": "system:masters"}}], **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10_000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [
                    {"kind": "Group", "group": {"name": "system:unauthenticated"}},
                    {"kind": "Group", "group": {"name": "system:authenticated"}},
                ],
                **_EVERYTHING,
            }
        ],
    },
}


class FlowSchemaStrategy(SpecKind):
    rechecks_change, rechecks_object = False, True

    def default(self, obj: Object) -> None:
        fill_empty(obj.setdefault("spec", {}), {"matchingPrecedence": DEFAULT_PRECEDENCE})

    def check(self, obj: Object, errors: Errors) -> None:
        name, spec = obj["metadata"].get("name", ""), obj["spec"]
        _check_precedence(spec["matchingPrecedence"], name, "spec.matchingPrecedence", errors)
        method = spec.get("distinguisherMethod")
        if method is not None and method.get("type") not in DISTINGUISHERS:
            value = as_internal("FlowDistinguisherMethod", method)
            errors.append(field.not_supported("spec.distinguisherMethod.type", value, DISTINGUISHERS))
        at = "spec.priorityLevelConfiguration.name"
        if level := (spec.get("priorityLevelConfiguration") or NO_FIELDS).get("name"):
            check_dns_subdomain(level, at, errors)
        else:
            errors.append(field.required(at, "must reference a priority level"))
        for i, rule in enumerate(spec.get("rules") or NO_ITEMS):
            _check_rule(rule, f"spec.rules[{i}]", errors)
        if name in MANDATORY and spec != MANDATORY[name]:
            errors.append(
                field.invalid(
                    "spec", as_internal("FlowSchemaSpec", spec), f"spec of '{name}' must equal the fixed value"
                )
            )
        check_conditions(obj, errors)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        keep_metadata(new, old)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_conditions(new, errors)


def _check_precedence(precedence: int, name: str, path: str, errors: Errors) -> None:
    if precedence <= 0:
        errors.append(field.invalid(path, precedence, "must be a positive value"))
    if precedence > HIGHEST_PRECEDENCE:
        errors.append(field.invalid(path, precedence, f"must not be greater than {HIGHEST_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        reason = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(field.invalid(path, precedence, reason))


def _check_rule(rule: Json, path: str, errors: Errors) -> None:
    if not rule.get("subjects"):
        errors.append(field.required(f"{path}.subjects", "subjects must contain at least one value"))
    for i, subject in enumerate(rule.get("subjects") or NO_ITEMS):
        _check_subject(subject, f"{path}.subjects[{i}]", errors)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        reason = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(field.required(path, reason))
    for i, part in enumerate(rule.get("resourceRules") or NO_ITEMS):
        _check_resource_rule(part, f"{path}.resourceRules[{i}]", errors)
    for i, part in enumerate(rule.get("nonResourceRules") or NO_ITEMS):
        _check_path_rule(part, f"{path}.nonResourceRules[{i}]", errors)


def _check_subject(subject: Json, path: str, errors: Errors) -> None:
    kind = subject.get("kind", "")
    if kind not in SUBJECTS:
        errors.append(field.not_supported(f"{path}.kind", kind, sorted(SUBJECTS)))
        return
    name = SUBJECTS[kind]
    if (part := subject.get(name)) is None:
        errors.append(field.required(f"{path}.{name}", f"{name} is required when subject kind is '{kind}'"))
    elif kind == "ServiceAccount":
        _check_account(part, f"{path}.{name}", errors)
    else:
        check_required(part.get("name"), f"{path}.{name}.name", errors)
    for other in ("ServiceAccount", "User", "Group"):
        if other != kind and SUBJECTS[other] in subject:
            reason = f"{SUBJECTS[other]} is forbidden when subject kind is not '{other}'"
            errors.append(field.forbidden(f"{path}.{SUBJECTS[other]}", reason))


def _check_account(account: Json, path: str, errors: Errors) -> None:
    name, namespace = account.get("name", ""), account.get("namespace", "")
    if not name:
        errors.append(field.required(f"{path}.name"))
    elif name != ALL:
        check_dns_subdomain(name, f"{path}.name", errors)
    if namespace:
        check_dns_label(namespace, f"{path}.namespace", errors)
    else:
        errors.append(field.required(f"{path}.namespace", "must specify namespace for service account"))


def _check_resource_rule(rule: Json, path: str, errors: Errors) -> None:
    _check_verbs(rule.get("verbs") or [], f"{path}.verbs", errors)
    for name, noun in (("apiGroups", "api group"), ("resources", "resource")):
        values, at = rule.get(name) or [], f"{path}.{name}"
        if not values:
            errors.append(field.required(at, f"resource rules must supply at least one {noun}"))
        _check_alone(values, f"{noun}s", at, errors)
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        reason = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(field.required(at, reason))
    elif ALL in namespaces:
        _check_alone(namespaces, "namespaces", at, errors)
    else:
        for i, namespace in enumerate(namespaces):
            for reason in validation.dns_label_errors(namespace):
                reason = f"each member of this list must be '*' or a DNS-1123 label; {reason}"
                errors.append(field.invalid(f"{at}[{i}]", namespace, reason))


def _check_path_rule(rule: Json, path: str, errors: Errors) -> None:
    _check_verbs(rule.get("verbs") or [], f"{path}.verbs", errors)
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        errors.append(field.required(at, "nonResourceURLs must contain at least one value"))
    elif ALL in urls:
        _check_alone(urls, "non-resource URLs", at, errors)
    else:
        for i, url in enumerate(urls):
            if reason := _url_error(url):
                errors.append(field.invalid(f"{at}[{i}]", url, reason))


def _check_verbs(verbs: Sequence[str], path: str, errors: Errors) -> None:
    if not verbs:
        errors.append(field.required(path, "verbs must contain at least one value"))
    elif ALL in verbs:
        _check_alone(verbs, "verbs", path, errors)
    elif not set(verbs) <= set(VERBS):
        errors.append(field.not_supported(path, verbs, VERBS))


def _check_alone(values: Sequence[str], noun: str, path: str, errors: Errors) -> None:
    if ALL in values and len(values) > 1:
        errors.append(field.invalid(path, values, f"if '*' is present, must not specify other {noun}"))


def _url_error(url: str) -> str:
    """Why this is no path a rule may name; "" where it is one. A `*` stands at the end, for all below."""
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


FLOW_SCHEMA = FlowSchemaStrategy()
