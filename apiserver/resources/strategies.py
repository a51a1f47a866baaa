"""Which strategy each kind has: the visible list. Versions of one kind share it (autoscaling/v1 and v2).

A kind that is not here is a plain one: no defaults, no status, nothing to validate beyond its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.registry.strategy import Strategy
from apiserver.resources.apps.controller_revision import CONTROLLER_REVISION
from apiserver.resources.apps.daemon_set import DAEMON_SET
from apiserver.resources.apps.deployment import DEPLOYMENT
from apiserver.resources.apps.replica_set import REPLICA_SET
from apiserver.resources.apps.stateful_set import STATEFUL_SET
from apiserver.resources.core.config_map import CONFIG_MAP
from apiserver.resources.core.limit_range import LIMIT_RANGE
from apiserver.resources.core.namespace import NAMESPACE
from apiserver.resources.core.node import NODE
from apiserver.resources.core.pod_template import POD_TEMPLATE
from apiserver.resources.core.replication_controller import REPLICATION_CONTROLLER
from apiserver.resources.core.resource_quota import RESOURCE_QUOTA
from apiserver.resources.core.secret import SECRET
from apiserver.resources.core.service_account import SERVICE_ACCOUNT
from apiserver.resources.events.event import CORE_EVENT, EVENT
from apiserver.resources.pods.pod import POD
from apiserver.resources.services.endpoint_slice import ENDPOINT_SLICE
from apiserver.resources.services.endpoints import ENDPOINTS
from apiserver.resources.services.service import SERVICE

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): CONFIG_MAP,
    ("", "Endpoints"): ENDPOINTS,
    ("", "Event"): CORE_EVENT,
    ("", "LimitRange"): LIMIT_RANGE,
    ("", "Namespace"): NAMESPACE,
    ("", "Node"): NODE,
    ("", "Pod"): POD,
    ("", "PodTemplate"): POD_TEMPLATE,
    ("", "ReplicationController"): REPLICATION_CONTROLLER,
    ("", "ResourceQuota"): RESOURCE_QUOTA,
    ("", "Secret"): SECRET,
    ("", "Service"): SERVICE,
    ("", "ServiceAccount"): SERVICE_ACCOUNT,
    ("apps", "ControllerRevision"): CONTROLLER_REVISION,
    ("apps", "DaemonSet"): DAEMON_SET,
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("discovery.k8s.io", "EndpointSlice"): ENDPOINT_SLICE,
    ("events.k8s.io", "Event"): EVENT,
}
