"""Acting as somebody else."""

from __future__ import annotations

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, AlwaysAllow, Decision, Rules
from apiserver.auth.impersonation import impersonate
from kubeloop.apimachinery.errors import BadRequest, Forbidden

ALICE = User("alice", groups=("system:authenticated",))
LIST = Access(ALICE, "list", "", "v1", "configmaps", namespace="ns")


class Allowing:
    """Allows accesses given as "verb resource name"."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = set(allowed)

    def authorize(self, access: Access) -> Decision:
        return Decision(f"{access.verb} {access.combined_resource} {access.name}" in self._allowed)

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


def test_without_headers_one_is_oneself() -> None:
    """Other headers do not matter."""
    assert ALICE == impersonate(ALICE, [("accept", "x")], LIST, Allowing())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("impersonate-user", "bob")], User("bob", groups=("system:authenticated",))),
        (
            [
                ("impersonate-user", "robot"),
                ("impersonate-group", "ops"),
                ("impersonate-extra-team%2fx", "blue"),
                ("impersonate-extra-team%2fx", "red"),
                ("impersonate-uid", "17"),
            ],
            User("robot", "17", ("ops", "system:authenticated"), {"team/x": ["blue", "red"]}),
        ),
        (
            [("impersonate-user", "system:serviceaccount:ns:bot")],
            User(
                "system:serviceaccount:ns:bot",
                groups=("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            ),
        ),
        (
            [("impersonate-user", "system:anonymous")],
            User("system:anonymous", groups=("system:unauthenticated",)),
        ),
        (
            [("impersonate-user", "system:node:n1")],
            User("system:node:n1", groups=("system:nodes", "system:authenticated")),
        ),
        (
            [("impersonate-user", "x"), ("impersonate-group", "system:masters")],
            User("x", groups=("system:masters", "system:authenticated")),
        ),
    ],
)
def test_whom_one_becomes(headers: list[tuple[str, str]], expected: User) -> None:
    """Groups that come with being someone are added; system:masters is left to the old way."""
    assert expected == impersonate(ALICE, headers, LIST, AlwaysAllow())


def test_the_old_verb_is_enough() -> None:
    """impersonate on users and groups, each asked about."""
    headers = [("impersonate-user", "bob"), ("impersonate-group", "ops")]

    became = impersonate(ALICE, headers, LIST, Allowing("impersonate users bob", "impersonate groups ops"))

    assert User("bob", groups=("ops", "system:authenticated")) == became


def test_constrained_impersonation_takes_both_rights() -> None:
    """To be this user, and to do this as somebody else."""
    headers = [("impersonate-user", "bob")]
    both = ("impersonate-on:user-info:list configmaps ", "impersonate:user-info users bob")

    became = impersonate(ALICE, headers, LIST, Allowing(*both))
    with pytest.raises(Forbidden):
        impersonate(ALICE, headers, LIST, Allowing(both[1]))

    assert "bob" == became.name


def test_the_first_refusal_is_answered() -> None:
    """That is the one of the narrowest way."""
    with pytest.raises(Forbidden) as refused:
        impersonate(ALICE, [("impersonate-user", "bob")], LIST, Allowing())

    expected = (
        'configmaps is forbidden: User "alice" cannot impersonate-on:user-info:list resource "configmaps" '
        'in API group "" in the namespace "ns"'
    )
    assert expected == refused.value.message


def test_groups_alone_are_a_bad_request() -> None:
    """The message shows what was asked as Go prints it."""
    with pytest.raises(BadRequest) as refused:
        impersonate(ALICE, [("impersonate-group", "ops")], LIST, AlwaysAllow())

    expected = (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"ops"}, Extra:map[string][]string(nil)} '
        "without impersonating a user name"
    )
    assert expected == refused.value.message


def test_an_extra_key_that_is_no_escape_stays_as_it_is() -> None:
    """As upstream, which reads percent-escapes only where all of them are."""
    headers = [("impersonate-user", "robot"), ("impersonate-extra-a%2fb%zz", "x")]

    assert {"a%2fb%zz": ["x"]} == impersonate(ALICE, headers, LIST, AlwaysAllow()).extra


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "team",
            'an invalid key in extra is not allowed: extra.key: Invalid value: "team": '
            'must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        ("", "the empty string key in extra is not allowed"),
    ],
)
def test_the_narrow_modes_take_no_odd_keys(key: str, expected: str) -> None:
    """The old way to impersonate still does."""
    headers = [("impersonate-user", "robot"), (f"impersonate-extra-{key}", "x")]
    narrow = Allowing("impersonate-on:user-info:list configmaps ", "impersonate:user-info users robot")

    with pytest.raises(Forbidden) as refused:
        impersonate(ALICE, headers, LIST, narrow)

    assert refused.value.message.endswith(f": impersonating {expected}")


def test_a_user_that_only_looks_like_a_node_is_a_user() -> None:
    """No node can have that name."""
    headers = [("impersonate-user", "system:node:No_Node")]
    narrow = Allowing("impersonate-on:user-info:list configmaps ", "impersonate:user-info users system:node:No_Node")

    assert ("system:authenticated",) == impersonate(ALICE, headers, LIST, narrow).groups
