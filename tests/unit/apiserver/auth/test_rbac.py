"""RBAC: which rules allow what, whose bindings apply, and the words of allowing and refusing."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.auth.authentication import User, service_account_user
from apiserver.auth.authorization import Access, AlwaysAllow, Masters, Rule, forbidden, require
from apiserver.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Rbac, rule_allows
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from tests.testkit.reader import DictReader

ALICE = User("alice", groups=("devs", "system:authenticated"))
BOB = User("bob", groups=("system:authenticated",))


def rule(verbs: str, resources: str = "", groups: str = "", **more: Any) -> Rule:
    return {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split(), **more}


def access(verb: str, resource: str, group: str = "", user: User = ALICE, **more: Any) -> Access:
    name, _, subresource = resource.partition("/")
    return Access(user, verb, group, "v1", name, subresource, **more)


@pytest.mark.parametrize(
    ("granted", "asked", "expected"),
    [
        (rule("get list", "pods"), access("get", "pods"), True),
        (rule("get list", "pods"), access("watch", "pods"), False),
        (rule("*", "pods"), access("deletecollection", "pods"), True),
        (rule("get", "pods"), access("get", "pods", "apps"), False),
        (rule("get", "*", "*"), access("get", "deployments/scale", "apps"), True),
        (rule("get", "pods"), access("get", "pods/log"), False),
        (rule("get", "pods/log"), access("get", "pods/log"), True),
        (rule("get", "pods/*"), access("get", "pods/log"), False),
        (rule("get", "*/scale", "*"), access("get", "deployments/scale", "apps"), True),
        (rule("get", "*/scale", "*"), access("get", "deployments", "apps"), False),
        (rule("get", "secrets", resourceNames=["mine"]), access("get", "secrets", name="mine"), True),
        (rule("get", "secrets", resourceNames=["mine"]), access("get", "secrets", name="other"), False),
        (rule("list", "secrets", resourceNames=["mine"]), access("list", "secrets"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}, Access(ALICE, "get", path="/healthz"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}, Access(ALICE, "get", path="/api/v1"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}, Access(ALICE, "get", path="/api"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["*"]}, Access(ALICE, "get", path="/x"), True),
        (rule("*", "*", "*"), Access(ALICE, "get", path="/healthz"), False),
    ],
)
def test_what_a_rule_allows(granted: Rule, asked: Access, expected: bool) -> None:
    """Verbs, groups, resources, subresources, names and paths, each with its wildcard."""
    assert expected == rule_allows(granted, asked)


def role(kind: str, name: str, *rules: Rule, namespace: str = "") -> tuple[str, Object]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return (CLUSTER_ROLES if kind == "ClusterRole" else ROLES), {"metadata": metadata, "rules": list(rules)}


def bound(name: str, role_kind: str, role_name: str, *subjects: Object, namespace: str = "") -> tuple[str, Object]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    obj = {"metadata": metadata, "roleRef": {"kind": role_kind, "name": role_name}, "subjects": list(subjects)}
    return (ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS), obj


def rbac(*objects: tuple[str, Object]) -> Rbac:
    reader = DictReader()
    for resource, obj in objects:
        reader.put(resource, obj)
    return Rbac(reader)


def subject(kind: str, name: str, **more: str) -> Object:
    return {"kind": kind, "name": name, **more}


@pytest.mark.parametrize(
    ("who", "user", "expected"),
    [
        (subject("User", "alice"), ALICE, 'User "alice"'),
        (subject("Group", "devs"), ALICE, 'Group "devs"'),
        (subject("ServiceAccount", "bot"), service_account_user("ns", "bot"), 'ServiceAccount "bot/ns"'),
        (
            subject("ServiceAccount", "bot", namespace="other"),
            service_account_user("other", "bot"),
            'ServiceAccount "bot/other"',
        ),
    ],
)
def test_a_role_binding_grants_in_its_namespace(who: Object, user: User, expected: str) -> None:
    """The reason names binding, role and the subject that applied; elsewhere nothing is granted."""
    authorizer = rbac(
        role("Role", "r", rule("get", "pods"), namespace="ns"), bound("b", "Role", "r", who, namespace="ns")
    )

    inside = authorizer.authorize(access("get", "pods", user=user, namespace="ns"))
    outside = [authorizer.authorize(access("get", "pods", user=user, namespace=where)) for where in ("else", "")]

    assert (True, f'RBAC: allowed by RoleBinding "b/ns" of Role "r" to {expected}') == (inside.allowed, inside.reason)
    assert [(False, "")] * 2 == [(decision.allowed, decision.reason) for decision in outside]


def test_a_cluster_role_binding_grants_everywhere() -> None:
    """In every namespace and at cluster scope."""
    authorizer = rbac(
        role("ClusterRole", "c", rule("list", "pods nodes")), bound("b", "ClusterRole", "c", subject("User", "alice"))
    )

    decisions = [
        authorizer.authorize(access("list", "pods", namespace="ns")),
        authorizer.authorize(access("list", "nodes")),
        authorizer.authorize(access("list", "nodes", user=BOB)),
    ]

    assert [True, True, False] == [decision.allowed for decision in decisions]
    assert 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to User "alice"' == decisions[0].reason


def test_a_cluster_role_can_be_granted_in_one_namespace() -> None:
    """A RoleBinding to a ClusterRole does not reach beyond its namespace."""
    authorizer = rbac(
        role("ClusterRole", "c", rule("get", "pods")),
        bound("b", "ClusterRole", "c", subject("User", "alice"), namespace="ns"),
    )

    assert authorizer.authorize(access("get", "pods", namespace="ns")).allowed
    assert not authorizer.authorize(access("get", "pods", namespace="else")).allowed


def test_a_missing_role_is_the_reason_of_a_refusal() -> None:
    """Two of them stand in brackets."""
    one = bound("a", "ClusterRole", "x", subject("User", "alice"))
    two = bound("b", "Role", "y", subject("User", "alice"), namespace="ns")

    alone = rbac(one).authorize(access("get", "pods"))
    both = rbac(one, two).authorize(access("get", "pods", namespace="ns"))

    first = 'clusterrole.rbac.authorization.k8s.io "x" not found'
    assert (False, f"RBAC: {first}") == (alone.allowed, alone.reason)
    assert f'RBAC: [{first}, role.rbac.authorization.k8s.io "y" not found]' == both.reason


def test_masters_may_everything() -> None:
    """Others are asked about."""
    authorizer = Masters(rbac())
    admin = User("admin", groups=("system:masters",))

    assert authorizer.authorize(access("*", "*", "*", user=admin)).allowed
    assert not authorizer.authorize(access("get", "pods")).allowed
    assert AlwaysAllow().authorize(access("get", "pods")).allowed


@pytest.mark.parametrize(
    ("asked", "message", "details"),
    [
        (
            access("list", "configmaps", namespace="ns"),
            'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" '
            'in the namespace "ns"',
            {"kind": "configmaps"},
        ),
        (
            access("get", "deployments/scale", "apps", namespace="ns", name="d"),
            'deployments.apps "d" is forbidden: User "alice" cannot get resource "deployments/scale" '
            'in API group "apps" in the namespace "ns"',
            {"name": "d", "group": "apps", "kind": "deployments"},
        ),
        (
            access("list", "nodes"),
            'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope',
            {"kind": "nodes"},
        ),
        (Access(ALICE, "get", path="/metrics"), 'forbidden: User "alice" cannot get path "/metrics"', {}),
        (
            Access(User("<b>"), "get", path="/"),
            'forbidden: User "&lt;b&gt;" cannot get path "/"',
            {},
        ),
    ],
)
def test_the_words_of_a_refusal(asked: Access, message: str, details: Object) -> None:
    """They name user, verb, resource, group and where; markup is made harmless."""
    with pytest.raises(Forbidden) as refused:
        require(rbac(), asked)

    assert (message, details) == (refused.value.message, refused.value.to_status()["details"])


def test_a_reason_follows_the_refusal() -> None:
    """What kept a grant from being found is said at the end."""
    assert forbidden(access("get", "pods"), "RBAC: x").message.endswith("at the cluster scope: RBAC: x")


def test_all_rules_of_a_user_can_be_listed() -> None:
    """Cluster-wide ones first, then those of the namespace, with what could not be resolved."""
    authorizer = rbac(
        role("ClusterRole", "c", rule("get", "nodes")),
        bound("b", "ClusterRole", "c", subject("Group", "devs")),
        bound("broken", "ClusterRole", "none", subject("Group", "devs")),
        role("Role", "r", rule("get", "pods"), namespace="ns"),
        bound("b", "Role", "r", subject("User", "alice"), namespace="ns"),
    )

    found = authorizer.rules_for(ALICE, "ns")

    assert [["nodes"], ["pods"]] == [one["resources"] for one in found.rules]
    assert 'clusterrole.rbac.authorization.k8s.io "none" not found' == found.error
