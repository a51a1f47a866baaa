"""Nobody grants what he does not have."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Masters, Rule
from apiserver.auth.escalation import Escalation, missing_rules
from apiserver.auth.rbac import ROLE_BINDINGS, ROLES, Rbac
from kubeloop.apimachinery.errors import Forbidden, NotFound
from kubeloop.apimachinery.meta import Object
from tests.testkit.reader import DictReader

ALICE = User("alice", groups=("devs", "system:authenticated"))


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Rule:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


def held_by_alice(*rules: Rule) -> Escalation:
    """Alice holds these rules in namespace ns."""
    reader = DictReader()
    reader.put(ROLES, {"metadata": {"name": "r", "namespace": "ns"}, "rules": list(rules)})
    reader.put(
        ROLE_BINDINGS,
        {
            "metadata": {"name": "r", "namespace": "ns"},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "alice"}],
        },
    )
    rbac = Rbac(reader)
    return Escalation(Masters(rbac), rbac)


def a_role(*rules: Rule, name: str = "new", **fields: Any) -> Object:
    return {"metadata": {"name": name}, "rules": list(rules), **fields}


def a_binding(kind: str, name: str) -> Object:
    return {"metadata": {"name": "b"}, "roleRef": {"kind": kind, "name": name}}


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        ([rule("get list", "pods")], [rule("get", "pods")], []),
        ([rule("get", "pods")], [rule("get list", "pods")], [rule("list", "pods")]),
        ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], []),
        ([rule("*", "*", "*")], [rule("get", "pods/exec", "x")], []),
        ([rule("get", "*/scale")], [rule("get", "deployments/scale")], []),
        ([rule("get", "pods", resourceNames=["a"])], [rule("get", "pods")], [rule("get", "pods")]),
        ([rule("get", "pods")], [rule("get", "pods", resourceNames=["a"])], []),
        (
            [{"verbs": ["get"], "nonResourceURLs": ["/api/*"]}],
            [{"verbs": ["get"], "nonResourceURLs": ["/api/v1", "/x"]}],
            [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        ),
    ],
)
def test_what_is_missing(held: list[Rule], wanted: list[Rule], missing: list[Rule]) -> None:
    """Rules are compared down to one verb on one resource."""
    assert missing == list(missing_rules(held, wanted))


def test_a_role_may_hold_what_its_writer_holds() -> None:
    """More is refused with a list of what is missing, verbs of one resource together."""
    escalation = held_by_alice(rule("get", "configmaps"))

    escalation.check_role("roles", "ns", a_role(rule("get", "configmaps")), None, ALICE)
    with pytest.raises(Forbidden) as refused:
        escalation.check_role("roles", "ns", a_role(rule("get list", "secrets"), rule("get", "pods")), None, ALICE)

    expected = (
        'roles.rbac.authorization.k8s.io "new" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )
    assert expected == refused.value.message


def test_escalate_and_masters_pass() -> None:
    """So does a write that only lets the garbage collector go on."""
    big = a_role(rule("*", "*", "*"))
    group = "rbac.authorization.k8s.io"

    held_by_alice(rule("escalate", "roles", group)).check_role("roles", "ns", big, None, ALICE)
    held_by_alice().check_role("roles", "ns", big, None, User("admin", groups=("system:masters",)))
    held_by_alice().check_role("roles", "ns", {**big, "metadata": {"name": "new", "finalizers": ["x"]}}, big, ALICE)


def test_aggregation_takes_full_authority() -> None:
    """Because it may gather anything."""
    aggregating = a_role(aggregationRule={"clusterRoleSelectors": [{}]})

    with pytest.raises(Forbidden, match="must have cluster-admin privileges to use the aggregationRule"):
        held_by_alice(rule("get", "pods")).check_role("clusterroles", "", aggregating, None, ALICE)


def test_a_binding_hands_out_what_its_writer_holds() -> None:
    """Or what he may bind; a role that does not exist is not found, under the binding's resource."""
    group = "rbac.authorization.k8s.io"
    holder = held_by_alice(rule("get", "configmaps"))
    binder = held_by_alice(rule("bind", "clusterroles", group, resourceNames=["edit"]))

    holder.check_binding("rolebindings", "ns", a_binding("Role", "r"), None, ALICE)
    binder.check_binding("rolebindings", "ns", a_binding("ClusterRole", "edit"), None, ALICE)
    with pytest.raises(NotFound) as missing:
        holder.check_binding("rolebindings", "ns", a_binding("Role", "none"), None, ALICE)

    assert 'rolebindings.rbac.authorization.k8s.io "none" not found' == missing.value.message
