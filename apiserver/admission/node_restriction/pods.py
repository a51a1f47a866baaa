"""What a kubelet may do to pods: show its mirror pods, report on its own ones, evict and delete them."""

from __future__ import annotations

from typing import Any

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, labels_of, name_of
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION, api_reference


class PodChecks:
    """Refuses what a node may not do to pods and their subresources."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def check(self, attributes: Attributes, node: str) -> None:
        subresource = attributes.subresource
        if subresource == "":
            self._check_pod(attributes, node)
        elif subresource == "status":
            _check_status(attributes, node)
        elif subresource == "eviction":
            self._check_eviction(attributes, node)
        else:
            allowed = "only 'status' and 'eviction' are allowed"
            raise attributes.forbidden(f"unexpected pod subresource {go_quote(subresource)}, {allowed}")

    def _check_pod(self, attributes: Attributes, node: str) -> None:
        if attributes.operation == CREATE:
            self._check_mirror(attributes, attributes.object or {}, node)
        elif attributes.operation == DELETE:
            if _node_name(attributes.old_object or {}) != node:
                why = "can only delete pods with spec.nodeName set to itself"
                raise attributes.forbidden(f"node {go_quote(node)} {why}")
        else:
            why = f"node {go_quote(node)} can only create and delete mirror pods"
            raise attributes.forbidden(f"unexpected operation {go_quote(attributes.operation)}, {why}")

    def _check_mirror(self, attributes: Attributes, pod: ReadOnlyObject, node: str) -> None:
        """A mirror pod is bound to the node and owned by it, and uses nothing of the API."""
        quoted = go_quote(node)
        if MIRROR_ANNOTATION not in annotations_of(pod):
            why = f"pod does not have {go_quote(MIRROR_ANNOTATION)} annotation"
            raise attributes.forbidden(f"{why}, node {quoted} can only create mirror pods")
        if _node_name(pod) != node:
            raise attributes.forbidden(f"node {quoted} can only create pods with spec.nodeName set to itself")
        self._check_owner(attributes, pod, node)
        if needed := api_reference(pod):
            raise attributes.forbidden(f"node {quoted} can not create pods that reference {needed}")

    def _check_owner(self, attributes: Attributes, pod: ReadOnlyObject, node: str) -> None:
        quoted, owners = go_quote(node), pod["metadata"].get("ownerReferences") or []
        if len(owners) > 1:
            raise attributes.forbidden(
                f"node {quoted} can only create pods with a single owner reference set to itself"
            )
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise attributes.forbidden(f"node {quoted} can only create pods with an owner reference set to itself")
        if not owner.get("controller"):
            why = "can only create pods with a controller owner reference set to itself"
            raise attributes.forbidden(f"node {quoted} {why}")
        if owner.get("blockOwnerDeletion"):
            raise attributes.forbidden(f"node {quoted} must not set blockOwnerDeletion on an owner reference")
        found = self._reader.get("nodes", "", node)
        if found is None:
            raise NotFound.of("node", "", node)
        expected, uid = owner.get("uid", ""), found["metadata"]["uid"]
        if expected != uid:
            raise attributes.forbidden(f"node {node} UID mismatch: expected {expected} got {uid}")

    def _check_eviction(self, attributes: Attributes, node: str) -> None:
        if attributes.operation != CREATE:
            raise attributes.forbidden(f"unexpected operation {attributes.operation}")
        name = attributes.name or name_of(attributes.object or {})
        if not name:
            raise attributes.forbidden("could not determine pod from request data")
        pod = self._reader.get("pods", attributes.namespace, name)
        if pod is None:
            raise NotFound.of("pod", "", name)
        if _node_name(pod) != node:
            raise attributes.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")


def _check_status(attributes: Attributes, node: str) -> None:
    new, old, quoted = attributes.object, attributes.old_object, go_quote(node)
    if attributes.operation != UPDATE or new is None or old is None:
        raise attributes.forbidden(f"unexpected operation {go_quote(attributes.operation)}")
    if _node_name(old) != node:
        raise attributes.forbidden(
            f"node {quoted} can only update pod status for pods with spec.nodeName set to itself"
        )
    if labels_of(new) != labels_of(old):
        raise attributes.forbidden(f"node {quoted} cannot update labels through pod status")
    if _claim_statuses(new) != _claim_statuses(old):
        raise attributes.forbidden(f"node {quoted} cannot update resource claim statues")
    if _extended_claim_status(new) != _extended_claim_status(old):
        raise attributes.forbidden(f"node {quoted} cannot update extended resource claim status")


def _node_name(pod: ReadOnlyObject) -> str:
    name: str = (pod.get("spec") or {}).get("nodeName", "")
    return name


def _claim_statuses(pod: ReadOnlyObject) -> list[tuple[Any, Any]]:
    listed = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return [(one.get("name"), one.get("resourceClaimName")) for one in listed]


def _extended_claim_status(pod: ReadOnlyObject) -> Any:
    return (pod.get("status") or {}).get("extendedResourceClaimStatus")
