"""The audit policy (--audit-policy-file): which requests are written down, at which level, at which stages.

Matching and words are those of apiserver/pkg/audit/policy and apis/audit/validation (v1.36): the first rule that
matches a request decides; a request that no rule matches is not audited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.auth.authorization import Access
from apiserver.auth.rbac import path_covers
from kubeloop.apimachinery.field import FieldError, invalid, not_supported, required
from kubeloop.apimachinery.validation import dns_subdomain_errors
from kubeloop.apimachinery.yaml_text import parse_yaml

NONE, METADATA, REQUEST, REQUEST_RESPONSE = LEVELS = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, COMPLETE, PANIC = STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

_VERSION = "audit.k8s.io/v1"


class PolicyError(ValueError):
    """The file holds no policy that could be followed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one request."""

    level: str
    omitted_stages: frozenset[str] = frozenset()
    omits_managed_fields: bool = False

    def is_at_least(self, level: str) -> bool:
        return LEVELS.index(self.level) >= LEVELS.index(level)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order; `otherwise` is for requests that none matches."""

    rules: Sequence[tuple[Mapping[str, Any], Verdict]] = ()
    otherwise: Verdict = field(default_factory=lambda: Verdict(NONE))

    @classmethod
    def parse(cls, text: bytes) -> Policy:
        """An audit.k8s.io/v1 Policy in YAML or JSON. Raises PolicyError."""
        try:
            found = parse_yaml(text)
        except ValueError as error:
            raise PolicyError(f"failed decoding: {error}") from error
        if not isinstance(found, dict) or (found.get("apiVersion"), found.get("kind")) != (_VERSION, "Policy"):
            shown = (found.get("apiVersion"), found.get("kind")) if isinstance(found, dict) else (None, None)
            raise PolicyError(f"unknown group version field {shown[0] or ''}, Kind={shown[1] or ''} in policy")
        rules = found.get("rules") or []
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise PolicyError("failed decoding: rules are no list of objects")
        if errors := _policy_errors(found, rules):
            texts = list(dict.fromkeys(map(str, errors)))
            raise PolicyError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        if not rules:
            raise PolicyError("loaded illegal policy with 0 rules")
        omitted = frozenset(found.get("omitStages") or ())
        omits = bool(found.get("omitManagedFields"))
        return cls([(rule, _verdict(rule, omitted, omits)) for rule in rules], Verdict(NONE, omitted, omits))

    def verdict(self, access: Access) -> Verdict:
        """`access.user` is the one who asks, before he acts as another."""
        return next((verdict for rule, verdict in self.rules if _matches(rule, access)), self.otherwise)


# Without a policy of the user's own: what there is to say without bodies, once the request is over.
DEFAULT = Policy(otherwise=Verdict(METADATA, frozenset({RECEIVED})))


def _verdict(rule: Mapping[str, Any], omitted: frozenset[str], omits_managed_fields: bool) -> Verdict:
    own = rule.get("omitManagedFields")
    stages = omitted | frozenset(rule.get("omitStages") or ())
    return Verdict(rule["level"], stages, omits_managed_fields if own is None else bool(own))


def _matches(rule: Mapping[str, Any], access: Access) -> bool:
    if rule.get("users") and access.user.name not in rule["users"]:
        return False
    if rule.get("userGroups") and not any(group in rule["userGroups"] for group in access.user.groups):
        return False
    if rule.get("verbs") and access.verb not in rule["verbs"]:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return access.is_resource and _matches_resource(rule, access)
    if rule.get("nonResourceURLs"):
        return not access.is_resource and any(path_covers(url, access.path) for url in rule["nonResourceURLs"])
    return True


def _matches_resource(rule: Mapping[str, Any], access: Access) -> bool:
    if rule.get("namespaces") and access.namespace not in rule["namespaces"]:
        return False
    wanted = rule.get("resources") or ()
    return not wanted or any(_is_among(one, access) for one in wanted)


def _is_among(wanted: Mapping[str, Any], access: Access) -> bool:
    if wanted.get("group", "") not in ("*", access.group):
        return False
    resources, names = wanted.get("resources") or (), wanted.get("resourceNames") or ()
    if not resources:
        return True
    if names and access.name not in names:
        return False
    covering = {"*", access.combined_resource, f"{access.resource}/*"}
    if access.subresource:
        covering.add(f"*/{access.subresource}")
    return any(resource in covering for resource in resources)


def _policy_errors(policy: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors = _stage_errors(policy, "omitStages")
    for i, rule in enumerate(rules):
        errors += _rule_errors(rule, f"rules[{i}]")
    return errors


def _rule_errors(rule: Mapping[str, Any], path: str) -> list[FieldError]:
    errors, level = [], rule.get("level")
    if not level:
        errors.append(required(f"{path}.level"))
    elif level not in LEVELS:
        errors.append(not_supported(f"{path}.level", level, LEVELS))
    urls = rule.get("nonResourceURLs") or []
    for i, url in enumerate(urls):
        if url != "*" and not url.startswith("/"):
            reason = "non-resource URL rules must begin with a '/' character"
            errors.append(invalid(f"{path}.nonResourceURLs[{i}]", url, reason))
        if "*" in url[:-1]:
            reason = "non-resource URL wildcards '*' must be the final character of the rule"
            errors.append(invalid(f"{path}.nonResourceURLs[{i}]", url, reason))
    errors += _resource_errors(rule.get("resources") or (), f"{path}.resources")
    errors += _stage_errors(rule, f"{path}.omitStages")
    if urls and (rule.get("resources") or rule.get("namespaces")):
        reason = "rules cannot apply to both regular resources and non-resource URLs"
        errors.append(invalid(f"{path}.nonResourceURLs", urls, reason))
    return errors


def _resource_errors(resources: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors = []
    for one in resources:
        group = one.get("group") or ""
        if group not in ("", "*") and (reasons := dns_subdomain_errors(group)):
            errors.append(invalid(f"{path}.group", group, ",".join(reasons)))
        if one.get("resourceNames") and not one.get("resources"):
            reason = "using resourceNames requires at least one resource"
            errors.append(invalid(f"{path}.resourceNames", one["resourceNames"], reason))
    return errors


def _stage_errors(holder: Mapping[str, Any], path: str) -> list[FieldError]:
    allowed = f"allowed stages are {','.join(STAGES)}"
    stages = holder.get("omitStages") or ()
    return [invalid(f"{path}[{i}]", stage, allowed) for i, stage in enumerate(stages) if stage not in STAGES]
