"""Who may do what: the questions asked, the answers given, and the words of a refusal.

Handlers call `require` for every request; reviews (`reviews.py`) and escalation checks (`escalation.py`) ask the same
Authorizer about others. The RBAC rules themselves are in `rbac.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from apiserver.auth.authentication import MASTERS, User
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.field_selectors import parse
from kubeloop.apimachinery.selectors import SelectorError
from kubeloop.apimachinery.values import value

Rule = dict[str, Any]  # a PolicyRule: verbs, apiGroups, resources, resourceNames, nonResourceURLs

# What Go's server puts in place of characters that could pass for markup.
_SANITISED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@value
class Access:
    """One question: may `user` do `verb` on a resource, or on a path where `path` is given instead."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""  # of a list, watch or deletecollection, as it was written

    def selects(self, field: str, value: str) -> bool:
        """Whether the field selector leaves only objects with this value; one that cannot be read leaves all."""
        try:
            return parse(self.field_selector).exact_value(field) == value
        except SelectorError:
            return False

    @property
    def is_resource(self) -> bool:
        return not self.path

    @property
    def combined_resource(self) -> str:
        """`deployments/scale`, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` says which grant allowed it, or what kept a grant from being found."""

    allowed: bool
    reason: str = ""


ALLOWED = Decision(True)
DENIED = Decision(False)


@dataclass(frozen=True, slots=True)
class Rules:
    """Every rule that holds for a user in a namespace; `error` says what could not be resolved."""

    rules: Sequence[Rule] = ()
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    def authorize(self, access: Access) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> Rules: ...


_EVERYTHING: Sequence[Rule] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


class AlwaysAllow:
    """--authorization-mode=AlwaysAllow."""

    def authorize(self, access: Access) -> Decision:
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules(_EVERYTHING)


class AlwaysDeny:
    """--authorization-mode=AlwaysDeny."""

    def authorize(self, access: Access) -> Decision:
        return Decision(False, "Everything is forbidden.")

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


class Union:
    """Asks several authorizers in turn until one allows."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, access: Access) -> Decision:
        reasons = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(access)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(False, "\n".join(reasons))

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Those of all of them together."""
        found = [authorizer.rules_for(user, namespace) for authorizer in self._authorizers]
        errors = list(dict.fromkeys(one.error for one in found if one.error))
        return Rules(
            [rule for one in found for rule in one.rules],
            any(one.incomplete for one in found),
            errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "",
        )


class Masters:
    """Lets system:masters do everything and asks the next authorizer about everybody else."""

    def __init__(self, then: Authorizer) -> None:
        self._then = then

    def authorize(self, access: Access) -> Decision:
        return ALLOWED if MASTERS in access.user.groups else self._then.authorize(access)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Only the rules that were granted: membership itself is no rule, as in the real server."""
        return self._then.rules_for(user, namespace)


def require(authorizer: Authorizer, access: Access) -> None:
    """Forbidden unless the access is allowed."""
    decision = authorizer.authorize(access)
    if not decision.allowed:
        raise forbidden(access, decision.reason)


def forbidden(access: Access, reason: str = "") -> Forbidden:
    """The 403 of an access: `pods "web" is forbidden: User "bob" cannot get resource "pods" in API group "" …`."""
    why = _refusal(access).translate(_SANITISED)
    if reason:
        why = f"{why}: {reason}"
    if access.is_resource:
        return Forbidden.of(access.resource, access.group, access.name, why)
    error = Forbidden(f"forbidden: {why}")
    error.details = {}  # present though empty
    return error


def _refusal(access: Access) -> str:
    user = f'User "{access.user.name}" cannot {access.verb}'
    if not access.is_resource:
        return f'{user} path "{access.path}"'
    where = f'in the namespace "{access.namespace}"' if access.namespace else "at the cluster scope"
    return f'{user} resource "{access.combined_resource}" in API group "{access.group}" {where}'
