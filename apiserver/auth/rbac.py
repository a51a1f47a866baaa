"""Role-based access control: bindings that name a user lead to roles, and a role's rules allow.

Objects come from a Reader (the server's own cache) and are only read. Aggregated cluster roles are filled in by a
controller. Semantics: pkg/registry/rbac/validation and plugin/pkg/auth/authorizer/rbac (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.auth.authentication import SERVICE_ACCOUNT_PREFIX, User
from apiserver.auth.authorization import DENIED, Access, Decision, Rule, Rules
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, namespace_of

GROUP = "rbac.authorization.k8s.io"
ROLES, ROLE_BINDINGS = f"roles.{GROUP}", f"rolebindings.{GROUP}"
CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS = f"clusterroles.{GROUP}", f"clusterrolebindings.{GROUP}"


@dataclass(frozen=True, slots=True)
class Grant:
    """A binding that applies to a user through `subject`: the rules of its role, or the error of looking for it."""

    binding: ReadOnlyObject
    subject: Mapping[str, Any]
    rules: Sequence[Rule]
    error: str = ""

    def __str__(self) -> str:
        """`RoleBinding "read/default" of Role "read" to User "alice"`."""
        namespace, name = namespace_of(self.binding), name_of(self.binding)
        binding = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        role = self.binding["roleRef"]
        return f'{binding} of {role["kind"]} "{role["name"]}" to {_subject_text(self.subject, namespace)}'


class Rbac:
    """--authorization-mode=RBAC."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def authorize(self, access: Access) -> Decision:
        errors = []
        for grant in self._grants(access.user, access.namespace):
            if grant.error:
                errors.append(grant.error)
            elif any(rule_allows(rule, access) for rule in grant.rules):
                return Decision(True, f"RBAC: allowed by {grant}")
        return Decision(False, f"RBAC: {_aggregate(errors)}") if errors else DENIED

    def rules_for(self, user: User, namespace: str) -> Rules:
        grants = list(self._grants(user, namespace))
        rules = [rule for grant in grants for rule in grant.rules]
        return Rules(rules, error=_aggregate([grant.error for grant in grants if grant.error]))

    def rules_of(self, role: Mapping[str, Any], namespace: str) -> Sequence[Rule]:
        """The rules a roleRef stands for; NotFound where the role does not exist."""
        kind, name = role.get("kind"), role.get("name", "")
        is_role = kind == "Role"
        found = self._reader.get(ROLES if is_role else CLUSTER_ROLES, namespace if is_role else "", name)
        if found is None:
            raise NotFound.of("role" if is_role else "clusterrole", GROUP, name)
        return found.get("rules") or ()

    def _grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """Cluster role bindings first, then the role bindings of the namespace, each in order of name."""
        for binding in self._reader.list(CLUSTER_ROLE_BINDINGS):
            if (subject := _applying(binding, user, "")) is not None:
                yield self._grant(binding, subject, "")
        if namespace:
            for binding in self._reader.list(ROLE_BINDINGS, namespace):
                if (subject := _applying(binding, user, namespace)) is not None:
                    yield self._grant(binding, subject, namespace)

    def _grant(self, binding: ReadOnlyObject, subject: Mapping[str, Any], namespace: str) -> Grant:
        try:
            return Grant(binding, subject, self.rules_of(binding["roleRef"], namespace))
        except NotFound as error:
            return Grant(binding, subject, (), error.message)


def rule_allows(rule: Rule, access: Access) -> bool:
    """Whether one rule allows an access; `*` stands for any verb, group, resource or path."""
    verbs = rule.get("verbs") or ()
    if access.verb not in verbs and "*" not in verbs:
        return False
    if not access.is_resource:
        return any(path_covers(granted, access.path) for granted in rule.get("nonResourceURLs") or ())
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    if access.group not in groups and "*" not in groups:
        return False
    if not _resource_matches(resources, access):
        return False
    names = rule.get("resourceNames")
    return not names or access.name in names


def path_covers(granted: str, path: str) -> bool:
    """Whether a granted path, which may end in `*`, covers another."""
    return granted == path or (granted.endswith("*") and path.startswith(granted.rstrip("*")))


def _resource_matches(resources: Sequence[str], access: Access) -> bool:
    if "*" in resources or access.combined_resource in resources:
        return True
    return bool(access.subresource) and f"*/{access.subresource}" in resources


def _applying(binding: ReadOnlyObject, user: User, namespace: str) -> Mapping[str, Any] | None:
    """The first subject of a binding that is the user."""
    return next((subject for subject in binding.get("subjects") or () if _is_user(subject, user, namespace)), None)


def _is_user(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "User":
        return name == user.name
    if kind == "Group":
        return name in user.groups
    if kind == "ServiceAccount":
        where = subject.get("namespace") or namespace
        return bool(where) and user.name == f"{SERVICE_ACCOUNT_PREFIX}{where}:{name}"
    return False


def _subject_text(subject: Mapping[str, Any], namespace: str) -> str:
    name = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{subject.get("kind")} "{name}"'


def _aggregate(errors: Sequence[str]) -> str:
    """Several errors as one text, as utilerrors.Aggregate joins them."""
    distinct = list(dict.fromkeys(errors))
    if len(distinct) < 2:
        return "".join(distinct)
    return f"[{', '.join(distinct)}]"
