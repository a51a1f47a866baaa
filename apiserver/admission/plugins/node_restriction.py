"""NodeRestriction: a kubelet writes only what is its own node's. It belongs to the authorization mode Node.

Steps and words are those of plugin/pkg/admission/noderestriction/admission.go (v1.36), with the feature gates that are
on by default.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.node_restriction.nodes import check_node
from apiserver.admission.node_restriction.pods import PodChecks
from apiserver.admission.node_restriction.tokens import TokenChecks
from apiserver.auth.authentication import NODE_PREFIX, node_of
from apiserver.auth.authorization import Authorizer
from apiserver.auth.nodes.authorizer import LEASES_NAMESPACE
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.certificate_request import RequestError, parse_request
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy, name_of

_NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
# What a kubelet may say of a claim that it resizes.
_CLAIM_STATUS_FIELDS = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


class NodeRestriction(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE})

    def __init__(self, reader: Reader, authorizer: Authorizer) -> None:
        pods, tokens = PodChecks(reader), TokenChecks(reader, authorizer)
        self._checks: dict[str, Callable[[Attributes, str], None]] = {
            "pods": pods.check,
            "nodes": check_node,
            "persistentvolumeclaims": _check_claim,
            "serviceaccounts": tokens.check,
            "leases.coordination.k8s.io": _check_lease,
            "csinodes.storage.k8s.io": _check_csi_node,
            "resourceslices.resource.k8s.io": _check_slice,
            "certificatesigningrequests.certificates.k8s.io": _check_signing_request,
        }
        self.resources = frozenset(self._checks)

    async def admit(self, attributes: Attributes) -> None:
        node = node_of(attributes.user)
        if node is None:
            return
        if not node:
            raise attributes.forbidden(f"could not determine node from user {go_quote(attributes.user.name)}")
        self._checks[str(attributes.resource)](attributes, node)


def _check_claim(attributes: Attributes, node: str) -> None:
    new, old = attributes.object, attributes.old_object
    if attributes.subresource != "status":
        raise attributes.forbidden("may only update PVC status")
    if new is None or old is None:
        raise attributes.forbidden(f"unexpected operation {go_quote(attributes.operation)}")
    if _fixed_part(new) != _fixed_part(old):
        fields = "status.quantity and status.conditions"
        raise attributes.forbidden(f"node {go_quote(node)} is not allowed to update fields other than {fields}")


def _fixed_part(claim: ReadOnlyObject) -> Object:
    """A claim without what its node may change, and without what every write changes."""
    fixed: Object = deep_copy(claim)
    for field in ("resourceVersion", "managedFields"):
        fixed["metadata"].pop(field, None)
    status = fixed.pop("status", None) or {}
    fixed["status"] = {field: value for field, value in status.items() if field not in _CLAIM_STATUS_FIELDS}
    return fixed


def _check_lease(attributes: Attributes, node: str) -> None:
    if attributes.namespace != LEASES_NAMESPACE:
        raise attributes.forbidden(f"can only access leases in the {go_quote(LEASES_NAMESPACE)} system namespace")
    if _name(attributes) != node:
        raise attributes.forbidden("can only access node lease with the same name as the requesting node")


def _check_csi_node(attributes: Attributes, node: str) -> None:
    if _name(attributes) != node:
        raise attributes.forbidden("can only access CSINode with the same name as the requesting node")


def _check_slice(attributes: Attributes, node: str) -> None:
    """Updates were settled by the Node authorizer, which sees the slice that is there."""
    if attributes.operation == UPDATE:
        return
    is_new = attributes.operation == CREATE
    found = (attributes.object if is_new else attributes.old_object) or {}
    if (found.get("spec") or {}).get("nodeName") != node:
        doing = "create" if is_new else "delete"
        raise attributes.forbidden(f"can only {doing} ResourceSlice with the same NodeName as the requesting node")


def _check_signing_request(attributes: Attributes, node: str) -> None:
    spec = (attributes.object or {}).get("spec") or {}
    if attributes.operation != CREATE or spec.get("signerName") not in _NODE_SIGNERS:
        return
    try:
        request = parse_request(base64.b64decode(spec.get("request") or ""))
    except RequestError as error:
        raise attributes.forbidden(f"unable to parse csr: {error}") from error
    if request.common_name != f"{NODE_PREFIX}{node}":
        raise attributes.forbidden(f"can only create a node CSR with CN={NODE_PREFIX}{node}")


def _name(attributes: Attributes) -> str:
    """The object's own name where it is new: a URL does not say it."""
    if attributes.operation == CREATE and attributes.object is not None:
        return name_of(attributes.object)
    return attributes.name
