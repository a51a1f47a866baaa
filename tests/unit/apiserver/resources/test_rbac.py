"""Roles, bindings, priority classes and leases."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

RBAC = "rbac.authorization.k8s.io"
ROLES = KindOnTrial(f"{RBAC}/v1", "Role")
CLUSTER_ROLES = KindOnTrial(f"{RBAC}/v1", "ClusterRole")
BINDINGS = KindOnTrial(f"{RBAC}/v1", "RoleBinding")
CLUSTER_BINDINGS = KindOnTrial(f"{RBAC}/v1", "ClusterRoleBinding")
CLASSES = KindOnTrial("scheduling.k8s.io/v1", "PriorityClass")
LEASES = KindOnTrial("coordination.k8s.io/v1", "Lease")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

READ_PODS: Object = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
VIEW: Object = {"kind": "ClusterRole", "name": "view"}


@pytest.mark.parametrize(
    ("kind", "rule", "refusals"),
    [
        (ROLES, READ_PODS, []),
        (ROLES, {"verbs": ["get"], "nonResourceURLs": ["/x"]}, ["namespaced rules cannot apply to non-resource URLs"]),
        (CLUSTER_ROLES, {"verbs": ["get"], "nonResourceURLs": ["/x"]}, []),
        (
            CLUSTER_ROLES,
            {**READ_PODS, "nonResourceURLs": ["/x"]},
            ["rules cannot apply to both regular resources and non-resource URLs"],
        ),
        (
            ROLES,
            {},
            [
                "verbs must contain at least one value",
                "resource rules must supply at least one api group",
                "resource rules must supply at least one resource",
            ],
        ),
    ],
)
def test_rules(kind: KindOnTrial, rule: Object, refusals: list[str]) -> None:
    """A rule grants something on something; only cluster roles reach the server's own paths."""
    actual = [error.rpartition(": ")[2] for error in kind.create_errors({"rules": [rule]})]

    assert refusals == actual


def test_names_of_roles() -> None:
    """Roles are named more freely than other objects, as the server's own are."""
    names = ("system:basic-user", "a/b", "..")

    actual = [list(ROLES.strategy.validate_name(name, False)) for name in names]

    assert [[], ["may not contain '/'"], ["may not be '..'"]] == actual


def test_binding_defaults() -> None:
    """Users and groups get the group of this API, service accounts none."""
    subjects = [{"kind": "User", "name": "alice"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]

    created = BINDINGS.created({"roleRef": VIEW, "subjects": subjects})

    assert {"apiGroup": RBAC, **VIEW} == created["roleRef"]
    assert [{"apiGroup": RBAC, **subjects[0]}, subjects[1]] == created["subjects"]


@pytest.mark.parametrize(
    ("kind", "subject", "refusals"),
    [
        (BINDINGS, {"kind": "ServiceAccount", "name": "s"}, []),
        (CLUSTER_BINDINGS, {"kind": "ServiceAccount", "name": "s"}, ["subjects[0].namespace: Required value"]),
        (
            BINDINGS,
            {"kind": "ServiceAccount", "name": "s", "apiGroup": "apps"},
            ['subjects[0].apiGroup: Unsupported value: "apps": supported values: ""'],
        ),
        (BINDINGS, {"kind": "User"}, ["subjects[0].name: Required value"]),
        (
            BINDINGS,
            {"kind": "Pod", "name": "p"},
            ['subjects[0].kind: Unsupported value: "Pod": supported values: "ServiceAccount", "User", "Group"'],
        ),
    ],
)
def test_subjects(kind: KindOnTrial, subject: Object, refusals: list[str]) -> None:
    """A subject is complete and of a known kind."""
    actual = kind.create_errors({"roleRef": VIEW, "subjects": [subject]})

    assert refusals == actual


def test_a_binding_keeps_its_role() -> None:
    """Its subjects may change, its role not."""
    old = BINDINGS.created({"roleRef": VIEW})

    kept = BINDINGS.change_errors(old, {"subjects": [{"kind": "User", "name": "bob"}]})
    changed = BINDINGS.change_errors(old, {"roleRef": {"name": "edit"}})

    printed = f'{{"APIGroup":"{RBAC}","Kind":"ClusterRole","Name":"edit"}}'
    assert ([], [f"roleRef: Invalid value: {printed}: cannot change roleRef"]) == (kept, changed)


@pytest.mark.parametrize(
    ("name", "value", "refusals"),
    [
        ("a", 1_000_000_000, []),
        ("a", 1_000_000_001, ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        ("system-node-critical", 2_000_001_000, []),
        ("system-node-critical", 7, ["value of system-node-critical PriorityClass must be 2000001000"]),
        ("system-x", 1, ["system-x is not a known system priority class"]),
    ],
)
def test_values_of_priority_classes(name: str, value: int, refusals: list[str]) -> None:
    """The highest values and names are the system's own."""
    errors = CLASSES.create_errors({"metadata": {"name": name}, "value": value})

    actual = [error if error.startswith("value:") else error.rpartition("error: ")[2] for error in errors]
    assert refusals == actual


def test_a_priority_class_stays_what_it_is() -> None:
    """Neither value nor preemption policy may change, and the system's own classes stay."""
    old = CLASSES.created({"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000})

    errors = CLASSES.change_errors(old, {"value": 7, "preemptionPolicy": "Never"})

    expected = [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]
    assert expected == errors
    with pytest.raises(Forbidden):
        CLASSES.strategy.begin_deletion(old, NOW)


def test_leases() -> None:
    """Numbers of a lease make sense, and what belongs to a feature that is off is dropped."""
    spec = {"leaseDurationSeconds": 0, "leaseTransitions": -1, "strategy": "OldestEmulationVersion"}

    errors, created = LEASES.create_errors({"spec": spec}), LEASES.created({"spec": spec})

    expected = [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]
    assert expected == errors
    assert {"leaseDurationSeconds": 0, "leaseTransitions": -1} == created["spec"]
