"""--authorization-mode=Node: what a kubelet may do, narrowed to its own node and to what its pods name.

Steps and words are those of plugin/pkg/auth/authorizer/node/node_authorizer.go (v1.36). What an authorizer cannot see,
the object that is written, is checked by the admission plugin NodeRestriction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.auth.authentication import User, node_of
from apiserver.auth.authorization import ALLOWED, DENIED, Access, Decision, Rule, Rules
from apiserver.auth.nodes.relations import Relations
from apiserver.auth.rbac import rule_allows

LEASES_NAMESPACE = "kube-node-lease"

_OWN_VERBS = frozenset({"get", "create", "update", "patch", "delete"})
_READS = frozenset({"get", "list", "watch"})


class NodeAuthorizer:
    """Knows only nodes; about everybody else it has no opinion."""

    def __init__(self, relations: Relations, rules: Sequence[Rule]) -> None:
        """`rules` hold for every node: those of the cluster role system:node."""
        self._relations, self._rules = relations, rules
        self._narrowed: dict[tuple[str, str], Callable[[str, Access], Decision]] = {
            ("", "secrets"): self._read_own,
            ("", "configmaps"): self._read_own,
            ("", "persistentvolumeclaims"): self._volume_claim,
            ("", "persistentvolumes"): self._get_own,
            ("", "serviceaccounts"): self._service_account,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            ("resource.k8s.io", "resourceclaims"): self._get_own,
            ("resource.k8s.io", "resourceslices"): self._resource_slice,
            ("storage.k8s.io", "volumeattachments"): self._get_own,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("coordination.k8s.io", "leases"): self._lease,
            ("certificates.k8s.io", "podcertificaterequests"): lambda node, access: DENIED,
        }

    def authorize(self, access: Access) -> Decision:
        node = node_of(access.user)
        if node is None:
            return DENIED
        if not node:
            return Decision(False, f'unknown node for user "{access.user.name}"')
        narrowed = self._narrowed.get((access.group, access.resource)) if access.is_resource else None
        if narrowed is not None:
            return narrowed(node, access)
        return ALLOWED if any(rule_allows(rule, access) for rule in self._rules) else DENIED

    def rules_for(self, user: User, namespace: str) -> Rules:
        """What a node may do depends on its pods: no list of rules says it."""
        if node_of(user) is None:
            return Rules()
        return Rules(incomplete=True, error="node authorizer does not support user rule resolution")

    # -- what the pods of a node name ---------------------------------------------------------------------------

    def _read_own(self, node: str, access: Access) -> Decision:
        if access.verb not in _READS:
            return _no("can only read resources of this type")
        if access.subresource:
            return _no("cannot read subresource")
        if not access.namespace:
            return _no("can only read namespaced object of this type")
        return self._own(node, access)

    def _get_own(self, node: str, access: Access) -> Decision:
        if access.verb != "get":
            return _no("can only get individual resources of this type")
        if access.subresource:
            return _no("cannot get subresource")
        return self._own(node, access)

    def _volume_claim(self, node: str, access: Access) -> Decision:
        if access.subresource != "status":
            return self._get_own(node, access)
        if access.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._own(node, access)

    def _service_account(self, node: str, access: Access) -> Decision:
        if access.verb == "get" and not access.subresource:
            return self._read_own(node, access)
        if access.verb != "create" or not access.name:
            return _no("can only create tokens for individual service accounts")
        if access.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._own(node, access)

    def _own(self, node: str, access: Access) -> Decision:
        if not access.name:
            return _no("No Object name found")
        resource = f"{access.resource}.{access.group}" if access.group else access.resource
        if self._relations.exists(node, resource, access.namespace, access.name):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    # -- what is a node's by its name -----------------------------------------------------------------------------

    def _node(self, node: str, access: Access) -> Decision:
        """Writes are narrowed by NodeRestriction. Reads go by name, so that a node may ask before it exists."""
        if access.subresource == "status":
            return ALLOWED if access.verb in ("update", "patch") else DENIED
        if access.subresource:
            return DENIED
        if access.verb in ("create", "update", "patch"):
            return ALLOWED
        if access.verb not in _READS:
            return DENIED
        if not access.name:
            return _no(f"node '{node}' cannot read all nodes, only its own Node object")
        if access.name != node:
            return _no(f"node '{node}' cannot read '{access.name}', only its own Node object")
        return ALLOWED

    def _lease(self, node: str, access: Access) -> Decision:
        if access.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a node lease")
        if access.namespace != LEASES_NAMESPACE:
            return _no(f'can only access leases in the "{LEASES_NAMESPACE}" system namespace')
        if access.verb != "create" and access.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return ALLOWED

    def _csi_node(self, node: str, access: Access) -> Decision:
        if access.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if access.subresource:
            return _no("cannot authorize CSINode subresources")
        if access.verb != "create" and access.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    # -- what is a node's by a field ------------------------------------------------------------------------------

    def _pod(self, node: str, access: Access) -> Decision:
        """Writes are narrowed by NodeRestriction."""
        match access.subresource, access.verb:
            case "", "get":
                return self._get_own(node, access)
            case "", "list" | "watch":
                if access.selects("spec.nodeName", node):
                    return ALLOWED
                if access.name:
                    return self._own(node, access)
                return _no("can only list/watch pods with spec.nodeName field selector")
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return ALLOWED
        return DENIED

    def _resource_slice(self, node: str, access: Access) -> Decision:
        if access.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        match access.verb:
            case "create":
                return ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._own(node, access)
            case "watch" | "list" | "deletecollection":
                if access.selects("spec.nodeName", node):
                    return ALLOWED
                return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        allowed = "get, watch, list, create, update, patch, delete, deletecollection"
        return _no(f"only the following verbs are allowed for a ResourceSlice: {allowed}")


def _no(reason: str) -> Decision:
    return Decision(False, reason)
