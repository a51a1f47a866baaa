"""The authorization mode Node: what a kubelet may do, and the words in which it is told that it may not."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, Decision
from apiserver.auth.bootstrap.users import NODE_RULES
from apiserver.auth.nodes.authorizer import NodeAuthorizer
from apiserver.auth.nodes.relations import Relations
from apiserver.storage.interface import Key
from kubeloop.apimachinery.meta import Object
from tests.testkit.reader import DictReader

N1 = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
N2 = User("system:node:n2", groups=("system:nodes", "system:authenticated"))
UNRELATED = "no relationship found between node 'n2' and this object"


def a_pod(name: str = "web", node: str = "n1", **spec: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"nodeName": node, **spec}}


WEB = a_pod(
    serviceAccountName="robot",
    imagePullSecrets=[{"name": "pull"}],
    containers=[
        {
            "name": "a",
            "envFrom": [{"secretRef": {"name": "env"}}, {"configMapRef": {"name": "env"}}],
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "key", "key": "k"}}},
            ],
        }
    ],
    volumes=[
        {"name": "s", "secret": {"secretName": "volume"}},
        {"name": "c", "configMap": {"name": "volume"}},
        {
            "name": "p",
            "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "projected"}}]},
        },
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "f", "cephfs": {"secretRef": {"name": "ceph"}}},
    ],
    resourceClaims=[
        {"name": "gpu", "resourceClaimName": "gpu-claim"},
        {"name": "tpl", "resourceClaimTemplateName": "t"},
    ],
)
WEB["status"] = {"resourceClaimStatuses": [{"name": "tpl", "resourceClaimName": "web-tpl-1"}]}
VOLUME = {
    "metadata": {"name": "pv-1"},
    "spec": {
        "claimRef": {"namespace": "ns", "name": "data"},
        "csi": {"nodeStageSecretRef": {"namespace": "storage", "name": "stage"}, "driver": "d"},
    },
}


def authorizer(*pods: Object) -> NodeAuthorizer:
    reader = DictReader().put("pods", *pods).put("persistentvolumes", VOLUME)
    reader.put("volumeattachments.storage.k8s.io", {"metadata": {"name": "va"}, "spec": {"nodeName": "n1"}})
    reader.put("resourceslices.resource.k8s.io", {"metadata": {"name": "slice"}, "spec": {"nodeName": "n1"}})

    def pods_of(node: str) -> list[Key]:
        return [Key("pods", "ns", pod["metadata"]["name"]) for pod in pods if pod["spec"]["nodeName"] == node]

    return NodeAuthorizer(Relations(reader, pods_of), NODE_RULES)


def access(user: User, verb: str, resource: str, group: str = "", **more: Any) -> Access:
    name, _, subresource = resource.partition("/")
    return Access(user, verb, group, "v1", name, subresource, **more)


@pytest.mark.parametrize(
    ("resource", "group", "namespace", "name"),
    [
        *(("secrets", "", "ns", name) for name in ("pull", "env", "key", "volume", "projected", "ceph")),
        *(("configmaps", "", "ns", name) for name in ("env", "key", "volume", "projected")),
        ("persistentvolumeclaims", "", "ns", "data"),
        ("persistentvolumeclaims", "", "ns", "web-e"),
        ("persistentvolumes", "", "", "pv-1"),
        ("secrets", "", "storage", "stage"),
        ("resourceclaims", "resource.k8s.io", "ns", "gpu-claim"),
        ("resourceclaims", "resource.k8s.io", "ns", "web-tpl-1"),
        ("serviceaccounts", "", "ns", "robot"),
        ("pods", "", "ns", "web"),
        ("volumeattachments", "storage.k8s.io", "", "va"),
        ("resourceslices", "resource.k8s.io", "", "slice"),
    ],
)
def test_a_node_reads_what_its_pods_lead_to(resource: str, group: str, namespace: str, name: str) -> None:
    """The node that the pod is bound to may get it; another node is told that it has nothing to do with it."""
    asked = authorizer(WEB)

    own = asked.authorize(access(N1, "get", resource, group, namespace=namespace, name=name))
    others = asked.authorize(access(N2, "get", resource, group, namespace=namespace, name=name))

    assert Decision(True) == own
    assert Decision(False, UNRELATED) == others


def test_a_mirror_pod_leads_to_nothing() -> None:
    """A kubelet makes mirror pods itself: they must not let it read secrets."""
    mirror = a_pod(imagePullSecrets=[{"name": "pull"}])
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    asked = authorizer(mirror)

    assert not asked.authorize(access(N1, "get", "secrets", namespace="ns", name="pull")).allowed
    assert asked.authorize(access(N1, "get", "pods", namespace="ns", name="web")).allowed


def test_a_secret_elsewhere_with_the_same_name_stays_closed() -> None:
    """What a pod names lies in its own namespace."""
    found = authorizer(WEB).authorize(access(N1, "get", "secrets", namespace="other", name="pull"))

    assert Decision(False, "no relationship found between node 'n1' and this object") == found


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (access(N1, "create", "secrets", namespace="ns", name="pull"), "can only read resources of this type"),
        (access(N1, "get", "secrets/x", namespace="ns", name="pull"), "cannot read subresource"),
        (access(N1, "list", "secrets"), "can only read namespaced object of this type"),
        (access(N1, "list", "secrets", namespace="ns"), "No Object name found"),
        (access(N1, "list", "persistentvolumes"), "can only get individual resources of this type"),
        (access(N1, "get", "persistentvolumes/status", name="pv-1"), "cannot get subresource"),
        (
            access(N1, "get", "persistentvolumeclaims/status", namespace="ns", name="data"),
            "can only get/update/patch this type",
        ),
        (
            access(N1, "delete", "serviceaccounts", namespace="ns", name="robot"),
            "can only create tokens for individual service accounts",
        ),
        (
            access(N1, "create", "serviceaccounts", namespace="ns", name="robot"),
            "can only create token subresource of serviceaccount",
        ),
        (access(N1, "list", "nodes"), "node 'n1' cannot read all nodes, only its own Node object"),
        (access(N1, "get", "nodes", name="n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (access(N1, "delete", "nodes", name="n1"), ""),
        (access(N1, "list", "pods"), "can only list/watch pods with spec.nodeName field selector"),
        (access(N1, "update", "pods", namespace="ns", name="web"), ""),
        (
            access(N1, "list", "leases", "coordination.k8s.io", namespace="kube-node-lease"),
            "can only get, create, update, patch, or delete a node lease",
        ),
        (
            access(N1, "get", "leases", "coordination.k8s.io", namespace="default", name="n1"),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            access(N1, "get", "leases", "coordination.k8s.io", namespace="kube-node-lease", name="n2"),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            access(N1, "update", "csinodes", "storage.k8s.io", name="n2"),
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            access(N1, "list", "csinodes", "storage.k8s.io"),
            "can only get, create, update, patch, or delete a CSINode",
        ),
        (
            access(N1, "list", "resourceslices", "resource.k8s.io", field_selector="spec.nodeName=n2"),
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        (access(User("system:node:", groups=("system:nodes",)), "get", "pods"), 'unknown node for user "system:node:"'),
        (access(User("system:node:n1"), "get", "nodes", name="n1"), ""),
        (access(User("alice", groups=("system:nodes",)), "get", "nodes", name="n1"), ""),
        (access(N1, "list", "deployments", "apps"), ""),
    ],
)
def test_what_a_node_may_not_do(asked: Access, reason: str) -> None:
    """Each refusal says what would be allowed, in the real server's words; about others than nodes it says nothing."""
    assert Decision(False, reason) == authorizer(WEB).authorize(asked)


@pytest.mark.parametrize(
    "asked",
    [
        access(N1, "get", "nodes", name="n1"),
        access(N1, "watch", "nodes", name="n1"),
        access(N1, "create", "nodes"),
        access(N1, "patch", "nodes/status", name="n1"),
        access(N1, "list", "pods", field_selector="spec.nodeName=n1"),
        access(N1, "watch", "pods", field_selector="status.phase!=Failed,spec.nodeName=n1"),
        access(N1, "watch", "pods", namespace="ns", name="web"),
        access(N1, "create", "pods", namespace="ns"),
        access(N1, "patch", "pods/status", namespace="ns", name="other"),
        access(N1, "create", "pods/eviction", namespace="ns", name="web"),
        access(N1, "create", "serviceaccounts/token", namespace="ns", name="robot"),
        access(N1, "patch", "persistentvolumeclaims/status", namespace="ns", name="data"),
        access(N1, "create", "leases", "coordination.k8s.io", namespace="kube-node-lease"),
        access(N1, "update", "leases", "coordination.k8s.io", namespace="kube-node-lease", name="n1"),
        access(N1, "create", "resourceslices", "resource.k8s.io"),
        access(N1, "deletecollection", "resourceslices", "resource.k8s.io", field_selector="spec.nodeName=n1"),
        access(N1, "create", "events", namespace="ns"),
        access(N1, "list", "services"),
    ],
)
def test_what_a_node_may_do(asked: Access) -> None:
    """Its own Node, lease and pods, and what the rules of system:node give to every node."""
    assert authorizer(WEB).authorize(asked).allowed


def test_a_pod_that_changes_is_looked_at_again() -> None:
    """What it names now counts: an ephemeral container may bring a secret along."""
    reader = DictReader().put("pods", a_pod())
    asked = NodeAuthorizer(Relations(reader, lambda node: [Key("pods", "ns", "web")]), NODE_RULES)
    wanted = access(N1, "get", "secrets", namespace="ns", name="debug")
    before = asked.authorize(wanted).allowed

    container = {"name": "d", "envFrom": [{"secretRef": {"name": "debug"}}]}
    reader.put("pods", a_pod(ephemeralContainers=[container]))

    assert (False, True) == (before, asked.authorize(wanted).allowed)
