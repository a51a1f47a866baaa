"""Validating and mutating webhook configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.admissionregistration.match_conditions import check_match_conditions
from apiserver.resources.admissionregistration.reserved_names import reserved_name_warnings
from apiserver.resources.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    check_rule,
    default_rules,
)
from apiserver.resources.admissionregistration.webhook_client import check_client, default_client
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_label_selector, check_one_of, check_with
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULTS = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
REINVOCATION_POLICIES = ("IfNeeded", "Never")
SIDE_EFFECTS = ("None", "NoneOnDryRun")
REVIEW_VERSIONS = ("v1", "v1beta1")
LONGEST_TIMEOUT_SECONDS = 30


class WebhookConfigurationStrategy(PlainKind):
    """Its generation counts the changes of the webhooks. `mutating` ones may be asked again about their own work."""

    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def __init__(self, mutating: bool) -> None:
        self.mutating = mutating

    def default(self, obj: Object) -> None:
        for webhook in obj.get("webhooks") or NO_ITEMS:
            fill(webhook, DEFAULTS)
            for name in ("namespaceSelector", "objectSelector"):
                webhook.setdefault(name, {})
            if self.mutating:
                fill(webhook, {"reinvocationPolicy": "Never"})
            default_client(webhook.setdefault("clientConfig", {}))
            default_rules(webhook.get("rules") or [])

    def prepare_for_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if (new.get("webhooks") or []) != (old.get("webhooks") or []):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check(self, obj: Object, errors: Errors) -> None:
        seen: set[str] = set()
        for i, webhook in enumerate(obj.get("webhooks") or NO_ITEMS):
            at, name = f"webhooks[{i}]", webhook.get("name", "")
            _check_webhook(webhook, self.mutating, at, errors)
            _check_review_versions(
                webhook.get("admissionReviewVersions") or [], f"{at}.admissionReviewVersions", errors
            )
            if name and name in seen:
                errors.append(field.duplicate(f"{at}.name", name))
            seen.add(name)

    def warnings(self, obj: Object) -> Sequence[str]:
        return reserved_name_warnings(obj)


def _check_webhook(webhook: Json, mutating: bool, path: str, errors: Errors) -> None:
    _check_name(webhook.get("name", ""), f"{path}.name", errors)
    for i, rule in enumerate(webhook.get("rules") or NO_ITEMS):
        check_rule(rule, f"{path}.rules[{i}]", errors)
    check_one_of(webhook["failurePolicy"], FAILURE_POLICIES, f"{path}.failurePolicy", errors)
    check_one_of(webhook["matchPolicy"], MATCH_POLICIES, f"{path}.matchPolicy", errors)
    _check_side_effects(webhook.get("sideEffects"), f"{path}.sideEffects", errors)
    timeout = webhook["timeoutSeconds"]
    if not 1 <= timeout <= LONGEST_TIMEOUT_SECONDS:
        reason = f"the timeout value must be between 1 and {LONGEST_TIMEOUT_SECONDS} seconds"
        errors.append(field.invalid(f"{path}.timeoutSeconds", timeout, reason))
    for name in ("namespaceSelector", "objectSelector"):
        check_label_selector(webhook.get(name), f"{path}.{name}", errors)
    if mutating:
        check_one_of(webhook["reinvocationPolicy"], REINVOCATION_POLICIES, f"{path}.reinvocationPolicy", errors)
    check_client(webhook.get("clientConfig") or NO_FIELDS, f"{path}.clientConfig", errors)
    check_match_conditions(webhook.get("matchConditions") or NO_ITEMS, f"{path}.matchConditions", errors)


def _check_name(name: str, path: str, errors: Errors) -> None:
    """Webhooks are named in a domain of their owner."""
    if not name:
        errors.append(field.required(path))
    elif reasons := validation.dns_subdomain_errors(name):
        errors.append(field.invalid(path, name, ",".join(reasons)))
    elif name.count(".") < 2:
        reason = "should be a domain with at least three segments separated by dots"
        errors.append(field.invalid(path, name, reason))


def _check_side_effects(side_effects: str | None, path: str, errors: Errors) -> None:
    if side_effects is None:
        errors.append(field.required(path, f"must specify one of {', '.join(SIDE_EFFECTS)}"))
    else:
        check_one_of(side_effects, SIDE_EFFECTS, path, errors)


def _check_review_versions(versions: Sequence[str], path: str, errors: Errors) -> None:
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        errors.append(field.required(path, f"must specify one of {known}"))
        return
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(field.invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            check_with(validation.dns1035_label_errors(version), version, f"{path}[{i}]", errors)
    if not any(version in REVIEW_VERSIONS for version in versions):
        errors.append(field.invalid(path, versions, f"must include at least one of {known}"))


VALIDATING_WEBHOOKS = WebhookConfigurationStrategy(mutating=False)
MUTATING_WEBHOOKS = WebhookConfigurationStrategy(mutating=True)
