"""Which strategy each kind has: the visible list. Versions of one kind share it (autoscaling/v1 and v2).

A kind that is not here is a plain one: no defaults, no status, nothing to validate beyond its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.registry.strategy import Strategy
from apiserver.resources.admissionregistration.mutating_policy import MUTATING_POLICY
from apiserver.resources.admissionregistration.policy_binding import MUTATING_POLICY_BINDING, VALIDATING_POLICY_BINDING
from apiserver.resources.admissionregistration.validating_policy import VALIDATING_POLICY
from apiserver.resources.admissionregistration.webhook_configuration import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from apiserver.resources.apiextensions.definition import CUSTOM_RESOURCE_DEFINITION
from apiserver.resources.apiregistration.api_service import API_SERVICE
from apiserver.resources.apps.controller_revision import CONTROLLER_REVISION
from apiserver.resources.apps.daemon_set import DAEMON_SET
from apiserver.resources.apps.deployment import DEPLOYMENT
from apiserver.resources.apps.replica_set import REPLICA_SET
from apiserver.resources.apps.stateful_set import STATEFUL_SET
from apiserver.resources.autoscaling.horizontal_pod_autoscaler import HORIZONTAL_POD_AUTOSCALER
from apiserver.resources.batch.cron_job import CRON_JOB
from apiserver.resources.batch.job import JOB
from apiserver.resources.certificates.signing_request import SIGNING_REQUEST
from apiserver.resources.coordination.lease import LEASE
from apiserver.resources.core.config_map import CONFIG_MAP
from apiserver.resources.core.limit_range import LIMIT_RANGE
from apiserver.resources.core.namespace import NAMESPACE
from apiserver.resources.core.node import NODE
from apiserver.resources.core.pod_template import POD_TEMPLATE
from apiserver.resources.core.replication_controller import REPLICATION_CONTROLLER
from apiserver.resources.core.resource_quota import RESOURCE_QUOTA
from apiserver.resources.core.secret import SECRET
from apiserver.resources.core.service_account import SERVICE_ACCOUNT
from apiserver.resources.dynamic_resources.device_class import DEVICE_CLASS
from apiserver.resources.dynamic_resources.resource_claim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from apiserver.resources.dynamic_resources.resource_slice import RESOURCE_SLICE
from apiserver.resources.events.event import CORE_EVENT, EVENT
from apiserver.resources.flowcontrol.flow_schema import FLOW_SCHEMA
from apiserver.resources.flowcontrol.priority_level import PRIORITY_LEVEL
from apiserver.resources.node.runtime_class import RUNTIME_CLASS
from apiserver.resources.pods.pod import POD
from apiserver.resources.policy.pod_disruption_budget import POD_DISRUPTION_BUDGET
from apiserver.resources.rbac.binding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from apiserver.resources.rbac.role import CLUSTER_ROLE, ROLE
from apiserver.resources.scheduling.priority_class import PRIORITY_CLASS
from apiserver.resources.services.address_ranges import IP_ADDRESS, SERVICE_CIDR
from apiserver.resources.services.endpoint_slice import ENDPOINT_SLICE
from apiserver.resources.services.endpoints import ENDPOINTS
from apiserver.resources.services.ingress import INGRESS
from apiserver.resources.services.ingress_class import INGRESS_CLASS
from apiserver.resources.services.network_policy import NETWORK_POLICY
from apiserver.resources.services.service import SERVICE
from apiserver.resources.storage.csi_driver import CSI_DRIVER
from apiserver.resources.storage.csi_node import CSI_NODE
from apiserver.resources.storage.csi_storage_capacity import CSI_STORAGE_CAPACITY
from apiserver.resources.storage.persistent_volume import PERSISTENT_VOLUME
from apiserver.resources.storage.persistent_volume_claim import PERSISTENT_VOLUME_CLAIM
from apiserver.resources.storage.storage_class import STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS
from apiserver.resources.storage.volume_attachment import VOLUME_ATTACHMENT

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): CONFIG_MAP,
    ("", "Endpoints"): ENDPOINTS,
    ("", "Event"): CORE_EVENT,
    ("", "LimitRange"): LIMIT_RANGE,
    ("", "Namespace"): NAMESPACE,
    ("", "Node"): NODE,
    ("", "PersistentVolume"): PERSISTENT_VOLUME,
    ("", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
    ("", "Pod"): POD,
    ("", "PodTemplate"): POD_TEMPLATE,
    ("", "ReplicationController"): REPLICATION_CONTROLLER,
    ("", "ResourceQuota"): RESOURCE_QUOTA,
    ("", "Secret"): SECRET,
    ("", "Service"): SERVICE,
    ("", "ServiceAccount"): SERVICE_ACCOUNT,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): MUTATING_POLICY,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): MUTATING_POLICY_BINDING,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): MUTATING_WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): VALIDATING_POLICY,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): VALIDATING_POLICY_BINDING,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): VALIDATING_WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): CUSTOM_RESOURCE_DEFINITION,
    ("apiregistration.k8s.io", "APIService"): API_SERVICE,
    ("apps", "ControllerRevision"): CONTROLLER_REVISION,
    ("apps", "DaemonSet"): DAEMON_SET,
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("certificates.k8s.io", "CertificateSigningRequest"): SIGNING_REQUEST,
    ("coordination.k8s.io", "Lease"): LEASE,
    ("autoscaling", "HorizontalPodAutoscaler"): HORIZONTAL_POD_AUTOSCALER,
    ("batch", "CronJob"): CRON_JOB,
    ("batch", "Job"): JOB,
    ("discovery.k8s.io", "EndpointSlice"): ENDPOINT_SLICE,
    ("events.k8s.io", "Event"): EVENT,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): FLOW_SCHEMA,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): PRIORITY_LEVEL,
    ("networking.k8s.io", "IPAddress"): IP_ADDRESS,
    ("networking.k8s.io", "Ingress"): INGRESS,
    ("networking.k8s.io", "IngressClass"): INGRESS_CLASS,
    ("networking.k8s.io", "NetworkPolicy"): NETWORK_POLICY,
    ("networking.k8s.io", "ServiceCIDR"): SERVICE_CIDR,
    ("node.k8s.io", "RuntimeClass"): RUNTIME_CLASS,
    ("policy", "PodDisruptionBudget"): POD_DISRUPTION_BUDGET,
    ("rbac.authorization.k8s.io", "ClusterRole"): CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): CLUSTER_ROLE_BINDING,
    ("rbac.authorization.k8s.io", "Role"): ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): ROLE_BINDING,
    ("resource.k8s.io", "DeviceClass"): DEVICE_CLASS,
    ("resource.k8s.io", "ResourceClaim"): RESOURCE_CLAIM,
    ("resource.k8s.io", "ResourceClaimTemplate"): RESOURCE_CLAIM_TEMPLATE,
    ("resource.k8s.io", "ResourceSlice"): RESOURCE_SLICE,
    ("scheduling.k8s.io", "PriorityClass"): PRIORITY_CLASS,
    ("storage.k8s.io", "CSIDriver"): CSI_DRIVER,
    ("storage.k8s.io", "CSINode"): CSI_NODE,
    ("storage.k8s.io", "CSIStorageCapacity"): CSI_STORAGE_CAPACITY,
    ("storage.k8s.io", "StorageClass"): STORAGE_CLASS,
    ("storage.k8s.io", "VolumeAttachment"): VOLUME_ATTACHMENT,
    ("storage.k8s.io", "VolumeAttributesClass"): VOLUME_ATTRIBUTES_CLASS,
}
