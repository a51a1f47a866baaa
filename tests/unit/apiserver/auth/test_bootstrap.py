"""The RBAC objects of a new cluster, put to the test by the authorizer that will use them."""

from __future__ import annotations

import pytest

from apiserver.auth.authentication import ANONYMOUS_USER, User, service_account_user
from apiserver.auth.authorization import Access
from apiserver.auth.bootstrap.policy import OBJECTS
from apiserver.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Rbac
from kubeloop.apimachinery.meta import Object
from tests.testkit.reader import DictReader

RESOURCE_OF = {
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
}
ALICE = User("alice", groups=("system:authenticated",))


def policy(*more: Object) -> Rbac:
    reader = DictReader()
    for obj in (*OBJECTS, *more):
        reader.put(RESOURCE_OF[obj["kind"]], obj)
    return Rbac(reader)


def granted(role: str) -> Object:
    """The ClusterRole for alice in namespace ns."""
    return {
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "ns"},
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": "alice"}],
    }


@pytest.mark.parametrize(
    ("user", "path", "expected"),
    [
        (ANONYMOUS_USER, "/healthz", True),
        (ANONYMOUS_USER, "/version", True),
        (ANONYMOUS_USER, "/api", False),
        (ALICE, "/api", True),
        (ALICE, "/apis/apps/v1", True),
        (ALICE, "/metrics", False),
        (User("prometheus", groups=("system:monitoring",)), "/metrics", True),
    ],
)
def test_which_paths_are_open(user: User, path: str, expected: bool) -> None:
    """Health to everybody, discovery to the known, metrics to few."""
    assert expected == policy().authorize(Access(user, "get", path=path)).allowed


@pytest.mark.parametrize(
    ("role", "verb", "resource", "group", "expected"),
    [
        ("view", "list", "pods", "", True),
        ("view", "get", "pods/log", "", True),
        ("view", "list", "secrets", "", False),
        ("view", "create", "configmaps", "", False),
        ("edit", "list", "secrets", "", True),
        ("edit", "list", "pods", "", True),
        ("edit", "create", "pods/eviction", "", True),
        ("edit", "list", "roles", "rbac.authorization.k8s.io", False),
        ("admin", "create", "roles", "rbac.authorization.k8s.io", True),
        ("admin", "get", "deployments", "apps", True),
        ("admin", "delete", "resourcequotas", "", False),
    ],
)
def test_view_edit_and_admin(role: str, verb: str, resource: str, group: str, expected: bool) -> None:
    """Each grants more than the one before, aggregated already."""
    name, _, subresource = resource.partition("/")
    asked = Access(ALICE, verb, group, "v1", name, subresource, "ns")

    assert expected == policy(granted(role)).authorize(asked).allowed


@pytest.mark.parametrize(
    ("user", "verb", "resource", "group"),
    [
        (service_account_user("kube-system", "replicaset-controller"), "create", "pods", ""),
        (service_account_user("kube-system", "generic-garbage-collector"), "delete", "anything", "example.com"),
        (service_account_user("kube-system", "horizontal-pod-autoscaler"), "update", "deployments/scale", "apps"),
        (User("system:kube-scheduler"), "create", "pods/binding", ""),
        (User("system:kube-controller-manager"), "watch", "anything", "example.com"),
    ],
)
def test_what_components_may(user: User, verb: str, resource: str, group: str) -> None:
    """Loops act as service accounts of kube-system."""
    name, _, subresource = resource.partition("/")

    assert policy().authorize(Access(user, verb, group, "v1", name, subresource, "ns")).allowed


def test_every_binding_leads_to_a_role() -> None:
    """No binding of the bootstrap policy is dangling."""
    roles = {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for obj in OBJECTS
        if obj["kind"].endswith("Role")
    }
    wanted = {
        (obj["roleRef"]["kind"], obj["metadata"].get("namespace", ""), obj["roleRef"]["name"])
        for obj in OBJECTS
        if "roleRef" in obj
    }

    assert set() == wanted - roles


def test_everything_is_marked_as_bootstrapped() -> None:
    """The label and annotation by which kube-apiserver knows its own."""
    unmarked = [
        obj["metadata"]["name"]
        for obj in OBJECTS
        if obj["metadata"]["labels"].get("kubernetes.io/bootstrapping") != "rbac-defaults"
        or obj["metadata"]["annotations"].get("rbac.authorization.kubernetes.io/autoupdate") != "true"
    ]

    assert [] == unmarked
