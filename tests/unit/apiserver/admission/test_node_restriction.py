"""NodeRestriction: what a kubelet may write. Messages are the real server's."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes
from apiserver.admission.plugins.node_restriction import NodeRestriction
from apiserver.auth.authentication import User
from apiserver.auth.authorization import AlwaysDeny
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import NODES, PODS, Resource
from tests.testkit.reader import DictReader

N1 = User("system:node:n1", groups=("system:nodes",))
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode")
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice")
REQUESTS = Resource("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest")
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-n1", "controller": True}
MIRROR = "kubernetes.io/config.mirror"


def said(
    resource: Resource,
    operation: str,
    obj: Object | None = None,
    old: Object | None = None,
    user: User = N1,
    **more: Any,
) -> str:
    """What the plugin says against a write; "" where nothing."""
    volumes = [
        {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]}},
        {"name": "c", "csi": {"driver": "d.example.com"}},
    ]
    spec = {"nodeName": "n1", "volumes": volumes}
    reader = DictReader().put("nodes", {"metadata": {"name": "n1", "uid": "u-n1"}})
    reader.put(
        "pods",
        {"metadata": {"name": "mine", "namespace": "ns", "uid": "u-mine"}, "spec": spec},
        {"metadata": {"name": "other", "namespace": "ns", "uid": "u-other"}, "spec": {"nodeName": "n2"}},
    )
    driver = {"metadata": {"name": "d.example.com"}, "spec": {"tokenRequests": [{"audience": "driver"}]}}
    reader.put("csidrivers.storage.k8s.io", driver)
    plugin = NodeRestriction(reader, AlwaysDeny())
    name = more.pop("name", "x")
    namespace = more.pop("namespace", "ns")
    attributes = Attributes(operation, resource, namespace, name, obj, old, user, **more)
    try:
        asyncio.run(plugin.admit(attributes))
    except ApiError as error:
        return str(error.message).partition(" is forbidden: ")[2] or str(error.message)
    return ""


def a_node(name: str = "n1", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def a_mirror(**changes: Any) -> Object:
    metadata = {"name": "m", "annotations": {MIRROR: "x"}, "ownerReferences": [OWNER]}
    return {"metadata": {**metadata, **changes.pop("metadata", {})}, "spec": {"nodeName": "n1", **changes}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (a_mirror(), ""),
        (
            a_mirror(metadata={"annotations": {}}),
            f'pod does not have "{MIRROR}" annotation, node "n1" can only create mirror pods',
        ),
        (a_mirror(nodeName="n2"), 'node "n1" can only create pods with spec.nodeName set to itself'),
        (
            a_mirror(metadata={"ownerReferences": [OWNER, OWNER]}),
            'node "n1" can only create pods with a single owner reference set to itself',
        ),
        (
            a_mirror(metadata={"ownerReferences": []}),
            'node "n1" can only create pods with an owner reference set to itself',
        ),
        (
            a_mirror(metadata={"ownerReferences": [{**OWNER, "name": "n2"}]}),
            'node "n1" can only create pods with an owner reference set to itself',
        ),
        (
            a_mirror(metadata={"ownerReferences": [{**OWNER, "controller": False}]}),
            'node "n1" can only create pods with a controller owner reference set to itself',
        ),
        (
            a_mirror(metadata={"ownerReferences": [{**OWNER, "blockOwnerDeletion": True}]}),
            'node "n1" must not set blockOwnerDeletion on an owner reference',
        ),
        (
            a_mirror(metadata={"ownerReferences": [{**OWNER, "uid": "u"}]}),
            "node n1 UID mismatch: expected u got u-n1",
        ),
        (a_mirror(serviceAccountName="a"), 'node "n1" can not create pods that reference serviceaccounts'),
        (
            a_mirror(imagePullSecrets=[{"name": "s"}]),
            'node "n1" can not create pods that reference secrets',
        ),
        (
            a_mirror(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
            'node "n1" can not create pods that reference persistentvolumeclaims',
        ),
        (
            a_mirror(volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]),
            'node "n1" can not create pods that reference serviceaccounts (via projected volumes)',
        ),
        (a_mirror(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), ""),
    ],
)
def test_a_node_creates_nothing_but_its_mirror_pods(obj: Object, expected: str) -> None:
    """Bound to it, owned by it, and without anything of the API."""
    assert expected == said(PODS, CREATE, obj)


def test_a_node_deletes_reports_on_and_evicts_its_own_pods_only() -> None:
    """Elsewhere it is refused; a pod's labels and claims are not its to change, nor its spec."""
    mine, other = {"metadata": {"name": "mine"}, "spec": {"nodeName": "n1"}}, a_mirror(nodeName="n2")
    labelled = {**mine, "metadata": {"name": "mine", "labels": {"a": "b"}}}
    claimed = {**mine, "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "b"}]}}
    eviction = {"metadata": {"name": "mine"}}

    assert "" == said(PODS, DELETE, None, mine)
    assert 'node "n1" can only delete pods with spec.nodeName set to itself' == said(PODS, DELETE, None, other)
    assert 'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods' == said(
        PODS, UPDATE, mine, mine
    )
    assert "" == said(PODS, UPDATE, mine, mine, subresource="status")
    assert 'node "n1" can only update pod status for pods with spec.nodeName set to itself' == said(
        PODS, UPDATE, other, other, subresource="status"
    )
    assert 'node "n1" cannot update labels through pod status' == said(
        PODS, UPDATE, labelled, mine, subresource="status"
    )
    assert 'node "n1" cannot update resource claim statues' == said(PODS, UPDATE, claimed, mine, subresource="status")
    assert "" == said(PODS, CREATE, eviction, subresource="eviction", name="mine")
    assert "node n1 can only evict pods with spec.nodeName set to itself" == said(
        PODS, CREATE, eviction, subresource="eviction", name="other"
    )
    assert 'pod "gone" not found' == said(PODS, CREATE, eviction, subresource="eviction", name="gone")
    assert "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed" == said(
        PODS, UPDATE, mine, mine, subresource="resize"
    )


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (a_node("n2"), None, 'node "n1" is not allowed to modify node "n2"'),
        (a_node(labels={"a": "b", "kubernetes.io/os": "linux", "node.kubernetes.io/x": "y"}), None, ""),
        (
            a_node(labels={"node-restriction.kubernetes.io/a": "", "x.k8s.io/b": "", "c": ""}),
            None,
            'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a, x.k8s.io/b',
        ),
        (
            a_node(configSource={}),
            None,
            'node "n1" is not allowed to create pods with a non-nil configSource',
        ),
        (a_node(taints=[{"key": "a"}]), None, ""),
        (a_node(taints=[{"key": "a"}]), a_node(), 'node "n1" is not allowed to modify taints'),
        (a_node(taints=[]), a_node(), ""),
        (
            a_node(labels={"kubernetes.io/role": "b"}),
            a_node(labels={"kubernetes.io/role": "a"}),
            "is not allowed to modify labels: kubernetes.io/role",
        ),
        (a_node(), a_node(labels={"x.kubernetes.io/a": ""}), "is not allowed to modify labels: x.kubernetes.io/a"),
        (
            {**a_node(), "metadata": {"name": "n1", "ownerReferences": [OWNER]}},
            a_node(),
            'node "n1" is not allowed to modify ownerReferences',
        ),
    ],
)
def test_a_node_writes_its_own_node_without_what_draws_pods(new: Object, old: Object | None, expected: str) -> None:
    """Neither taints nor labels that Kubernetes reserves, on no other node."""
    name = new["metadata"]["name"]

    assert expected == said(NODES, UPDATE if old else CREATE, new, old, name=name, namespace="")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "node requested token not bound to a pod"),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "mine"}},
            "node requested token not bound to a pod",
        ),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "mine"}},
            "node requested token with a pod binding without a uid",
        ),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "u"}},
            "the UID in the bound object reference (u) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        ),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "u-other"}},
            "node requested token bound to a pod scheduled on a different node",
        ),
        (
            {
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "u-mine"},
                "audiences": ["a", "b"],
            },
            "node may only request 0 or 1 audiences",
        ),
        (
            {
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "u-mine"},
                "audiences": ["a"],
            },
            'audience "a" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this '
            "audience",
        ),
        *(
            (
                {
                    "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "u-mine"},
                    "audiences": [audience],
                },
                "",
            )
            for audience in ("vault", "driver")
        ),
    ],
)
def test_a_node_asks_for_tokens_of_its_pods(spec: Object, expected: str) -> None:
    """Bound to a pod of its own, and for an audience that the pod mounts or a driver of its volumes wants."""
    assert expected == said(ACCOUNTS, CREATE, {"spec": spec}, subresource="token", name="default")


def test_leases_csi_nodes_slices_and_requests_are_those_of_the_node() -> None:
    """By name, by field, or by the name in the certificate request."""
    lease, theirs = {"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}
    leases = {"namespace": "kube-node-lease"}
    assert "" == said(LEASES, CREATE, lease, name="", **leases)
    assert "can only access node lease with the same name as the requesting node" == said(
        LEASES, UPDATE, theirs, theirs, name="n2", **leases
    )
    assert 'can only access leases in the "kube-node-lease" system namespace' == said(LEASES, CREATE, lease)
    assert "can only access CSINode with the same name as the requesting node" == said(CSI_NODES, CREATE, theirs)
    assert "can only create ResourceSlice with the same NodeName as the requesting node" == said(
        SLICES, CREATE, {"metadata": {}, "spec": {"nodeName": "n2"}}
    )
    assert "can only delete ResourceSlice with the same NodeName as the requesting node" == said(
        SLICES, DELETE, None, {"metadata": {}, "spec": {"pool": {}}}
    )
    request = {"spec": {"signerName": "kubernetes.io/kubelet-serving", "request": ""}}
    assert said(REQUESTS, CREATE, request).startswith("unable to parse csr: ")
    assert "" == said(REQUESTS, CREATE, {"spec": {"signerName": "example.com/x", "request": ""}})


def test_a_node_says_of_a_claim_only_how_large_it_became() -> None:
    """Capacity and conditions; whatever else differs is refused, and so is every other write of a claim."""
    old = {"metadata": {"name": "c", "resourceVersion": "1"}, "spec": {}, "status": {"phase": "Bound"}}
    grown, lost = copy.deepcopy(old), copy.deepcopy(old)
    grown["status"] = {"phase": "Bound", "capacity": {"storage": "2Gi"}, "conditions": []}
    lost["status"] = {"phase": "Lost"}

    assert "" == said(CLAIMS, UPDATE, grown, old, subresource="status")
    assert said(CLAIMS, UPDATE, lost, old, subresource="status").startswith(
        'node "n1" is not allowed to update fields other than status.quantity and status.conditions'
    )
    assert "may only update PVC status" == said(CLAIMS, UPDATE, grown, old)


def test_nobody_else_is_restricted() -> None:
    """Users that are no nodes pass; a node without a name does nothing."""
    unnamed = User("system:node:", groups=("system:nodes",))

    assert "" == said(NODES, CREATE, a_node("n7"), user=User("alice"), name="n7")
    assert 'could not determine node from user "system:node:"' == said(NODES, CREATE, a_node(), user=unnamed)
