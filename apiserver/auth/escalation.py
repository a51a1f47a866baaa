"""No one may grant what he does not have: checks on writes of roles and bindings.

The stores of the four RBAC kinds call these on create and update. Members of system:masters, and those allowed to
`escalate` a role or `bind` one, pass. Semantics: pkg/registry/rbac and component-helpers/auth/rbac/validation (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apiserver.auth.authentication import MASTERS, User
from apiserver.auth.authorization import Access, Authorizer, Rule
from apiserver.auth.rbac import GROUP, Rbac, path_covers
from kubeloop.apimachinery.errors import Forbidden, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of

_FULL_AUTHORITY: Sequence[Rule] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
# What the garbage collector changes on an object it lets go of.
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "managedFields")


class Escalation:
    """The two checks, for whichever authorizer is in force."""

    def __init__(self, authorizer: Authorizer, rbac: Rbac) -> None:
        self.authorizer = authorizer
        self._rbac = rbac

    def check_role(self, resource: str, namespace: str, role: Object, old: ReadOnlyObject | None, user: User) -> None:
        """Forbidden where a role (`resource`: roles or clusterroles) would hold rules its writer lacks."""
        if _is_master(user) or self._may_escalate(user, resource, namespace, old):
            return
        if old is not None and _only_collector_fields_differ(role, old):
            return
        self._check_rules(resource, name_of(role), namespace, role.get("rules") or (), user)
        if _aggregates(role) or (old is not None and _aggregates(old)):
            granted = self._rbac.rules_for(user, namespace).rules
            if next(missing_rules(granted, _FULL_AUTHORITY), None) is not None:
                why = "must have cluster-admin privileges to use the aggregationRule"
                raise Forbidden.of(resource, GROUP, name_of(role), why)

    def check_binding(
        self, resource: str, namespace: str, binding: Object, old: ReadOnlyObject | None, user: User
    ) -> None:
        """Forbidden where a binding would hand out rules its writer lacks; NotFound where its role does not exist."""
        if _is_master(user):
            return
        if old is not None and _only_collector_fields_differ(binding, old):
            return
        role = binding.get("roleRef") or {}
        roles = {"Role": "roles", "ClusterRole": "clusterroles"}.get(role.get("kind", ""), "")
        if roles and self._may(user, "bind", roles, namespace, role.get("name", "")):
            return
        try:
            rules = self._rbac.rules_of(role, namespace)
        except NotFound as error:
            raise NotFound.of(resource, GROUP, role.get("name", "")) from error
        self._check_rules(resource, name_of(binding), namespace, rules, user)

    def _may_escalate(self, user: User, resource: str, namespace: str, old: ReadOnlyObject | None) -> bool:
        """Asked about the name in the URL, which a create has not: a rule with resourceNames covers no new role."""
        return self._may(user, "escalate", resource, namespace, name_of(old) if old is not None else "")

    def _may(self, user: User, verb: str, resource: str, namespace: str, name: str) -> bool:
        access = Access(user, verb, GROUP, "*", resource, namespace=namespace, name=name)
        return self.authorizer.authorize(access).allowed

    def _check_rules(self, resource: str, name: str, namespace: str, rules: Sequence[Rule], user: User) -> None:
        granted = self._rbac.rules_for(user, namespace)
        missing = list(missing_rules(granted.rules, rules))
        if not missing:
            return
        groups = " ".join(f'"{group}"' for group in user.groups)
        why = f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
        why += "\n".join(sorted({_text(rule) for rule in _compact(missing)}))
        if granted.error:
            why += f"; resolution errors: [{granted.error}]"
        raise Forbidden.of(resource, GROUP, name, why)


def missing_rules(granted: Sequence[Rule], wanted: Sequence[Rule]) -> Iterator[Rule]:
    """The parts of `wanted`, down to one verb on one resource, that no granted rule covers."""
    for rule in wanted:
        for part in _break_down(rule):
            if not any(_covers(owner, part) for owner in granted):
                yield part


def _break_down(rule: Rule) -> Iterator[Rule]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                part: Rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                yield from ({**part, "resourceNames": [name]} for name in names) if names else (part,)
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(owner: Rule, part: Rule) -> bool:
    """Whether a rule covers a part, which has at most one verb, resource, name and path."""
    return (
        _has_all(owner.get("verbs") or (), part["verbs"], "*")
        and _has_all(owner.get("apiGroups") or (), part.get("apiGroups") or (), "*")
        and all(_covers_resource(owner.get("resources") or (), one) for one in part.get("resources") or ())
        and all(_covers_path(owner.get("nonResourceURLs") or (), one) for one in part.get("nonResourceURLs") or ())
        and _covers_names(owner.get("resourceNames") or (), part.get("resourceNames") or ())
    )


def _has_all(owned: Sequence[str], wanted: Sequence[str], wildcard: str) -> bool:
    return wildcard in owned or all(one in owned for one in wanted)


def _covers_resource(owned: Sequence[str], resource: str) -> bool:
    if "*" in owned or resource in owned:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in owned


def _covers_path(owned: Sequence[str], path: str) -> bool:
    return any(path_covers(granted, path) for granted in owned)


def _covers_names(owned: Sequence[str], names: Sequence[str]) -> bool:
    return not owned or (bool(names) and all(name in owned for name in names))


def _compact(parts: Sequence[Rule]) -> Iterator[Rule]:
    """Parts on one resource, joined into one rule with all their verbs; paths stay apart."""
    joined: dict[tuple[str, str, str | None], Rule] = {}
    for part in parts:
        if "nonResourceURLs" in part:
            yield part
            continue
        key = (part["apiGroups"][0], part["resources"][0], (part.get("resourceNames") or [None])[0])
        if key in joined:
            joined[key]["verbs"] += part["verbs"]
        else:
            joined[key] = {**part, "verbs": list(part["verbs"])}
    yield from joined.values()


def _text(rule: Rule) -> str:
    """A rule as refusals show it: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`."""
    shown = [
        f"{label}:[{' '.join(_quoted(value) for value in rule[field])}]"
        for label, field in (
            ("APIGroups", "apiGroups"),
            ("Resources", "resources"),
            ("NonResourceURLs", "nonResourceURLs"),
            ("ResourceNames", "resourceNames"),
            ("Verbs", "verbs"),
        )
        if rule.get(field)
    ]
    return "{" + ", ".join(shown) + "}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _is_master(user: User) -> bool:
    return MASTERS in user.groups


def _aggregates(role: ReadOnlyObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collector_fields_differ(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    return _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(obj: ReadOnlyObject) -> Object:
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _COLLECTOR_FIELDS}
    return {**obj, "metadata": metadata}
