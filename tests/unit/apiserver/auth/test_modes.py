"""--authorization-mode: a list of authorizers, asked in order."""

from __future__ import annotations

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, AlwaysAllow, Authorizer, Decision, Rules
from apiserver.auth.modes import ModeError, authorizer_of, check_modes

ACCESS = Access(User("alice"), "get", resource="pods")


class Says:
    """An authorizer with one answer."""

    def __init__(self, decision: Decision, rules: Rules | None = None) -> None:
        self._decision, self._rules = decision, rules or Rules()

    def authorize(self, access: Access) -> Decision:
        return self._decision

    def rules_for(self, user: User, namespace: str) -> Rules:
        return self._rules


def no(reason: str) -> Authorizer:
    return Says(Decision(False, reason))


@pytest.mark.parametrize(
    ("modes", "said"),
    [
        ([], "at least one authorization-mode must be passed"),
        (["rbac"], 'authorization-mode "rbac" is not a valid mode'),
        (["RBAC", "RBAC"], 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
        (["Webhook"], "authorization-mode Webhook's authorization config file not passed"),
        (["ABAC", "x"], "[authorization-mode ABAC's authorization policy file not passed, "
         'authorization-mode "x" is not a valid mode]'),
    ],
)  # fmt: skip
def test_modes_that_make_no_sense_are_refused(modes: list[str], said: str) -> None:
    """In the real server's words, all of them at once."""
    with pytest.raises(ModeError) as refused:
        check_modes(modes)

    assert said == str(refused.value)


def test_the_first_who_allows_decides() -> None:
    """Its reason is the decision's; those before it did not know."""
    asked = authorizer_of(["Node", "RBAC"], no("not yours"), Says(Decision(True, "RBAC: allowed")))

    assert Decision(True, "RBAC: allowed") == asked.authorize(ACCESS)


def test_who_is_refused_hears_every_reason() -> None:
    """One a line, in the order of the modes; authorizers that say nothing leave no line."""
    assert Decision(False, "not yours\nRBAC: no role") == authorizer_of(
        ["Node", "RBAC"], no("not yours"), no("RBAC: no role")
    ).authorize(ACCESS)
    assert Decision(False, "RBAC: no role") == authorizer_of(["Node", "RBAC"], no(""), no("RBAC: no role")).authorize(
        ACCESS
    )
    assert Decision(False, "Everything is forbidden.") == authorizer_of(["AlwaysDeny"], no(""), no("")).authorize(
        ACCESS
    )


def test_rules_of_all_modes_are_told_together() -> None:
    """With what could not be told."""
    node = Says(Decision(False), Rules(incomplete=True, error="node authorizer does not support user rule resolution"))
    rbac = Says(Decision(False), Rules([{"verbs": ["get"]}]))

    found = authorizer_of(["Node", "RBAC"], node, rbac).rules_for(User("system:node:n1"), "ns")

    assert ([{"verbs": ["get"]}], True) == (list(found.rules), found.incomplete)
    assert "node authorizer does not support user rule resolution" == found.error


def test_members_of_system_masters_are_let_in_before_all_modes() -> None:
    """Even AlwaysDeny, as upstream."""
    access = Access(User("root", groups=("system:masters",)), "get", resource="pods")

    assert authorizer_of(["AlwaysDeny"], no(""), AlwaysAllow()).authorize(access).allowed
