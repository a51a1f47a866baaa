"""The table columns of every kind, by group and kind: one line a kind, in the order of the API groups.

`resources/catalog.py` takes them from here; a kind that is not listed gets PLAIN_COLUMNS, a custom one CUSTOM_COLUMNS
(both in apiserver/printing/cells.py). All versions of a kind share their columns: cells are made from stored objects.
"""

from __future__ import annotations

from apiserver.printing.cells import PLAIN_COLUMNS
from apiserver.printing.table import Column
from apiserver.resources.admissionregistration import columns as admissionregistration
from apiserver.resources.apiextensions import columns as apiextensions
from apiserver.resources.apiregistration import columns as apiregistration
from apiserver.resources.apps import columns as apps
from apiserver.resources.autoscaling import columns as autoscaling
from apiserver.resources.batch import columns as batch
from apiserver.resources.certificates import columns as certificates
from apiserver.resources.coordination import columns as coordination
from apiserver.resources.core import columns as core
from apiserver.resources.dynamic_resources import columns as dynamic_resources
from apiserver.resources.events import columns as events
from apiserver.resources.flowcontrol import columns as flowcontrol
from apiserver.resources.node import columns as node
from apiserver.resources.pods import columns as pods
from apiserver.resources.policy import columns as policy
from apiserver.resources.rbac import columns as rbac
from apiserver.resources.scheduling import columns as scheduling
from apiserver.resources.services import columns as services
from apiserver.resources.storage import columns as storage

COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "ComponentStatus"): core.COMPONENT_STATUS_COLUMNS,
    ("", "ConfigMap"): core.CONFIG_MAP_COLUMNS,
    ("", "Endpoints"): services.ENDPOINTS_COLUMNS,
    ("", "Event"): events.EVENT_COLUMNS,
    ("", "LimitRange"): PLAIN_COLUMNS,
    ("", "Namespace"): core.NAMESPACE_COLUMNS,
    ("", "Node"): core.NODE_COLUMNS,
    ("", "PersistentVolume"): storage.PERSISTENT_VOLUME_COLUMNS,
    ("", "PersistentVolumeClaim"): storage.PERSISTENT_VOLUME_CLAIM_COLUMNS,
    ("", "Pod"): pods.POD_COLUMNS,
    ("", "PodTemplate"): pods.POD_TEMPLATE_COLUMNS,
    ("", "ReplicationController"): core.REPLICATION_CONTROLLER_COLUMNS,
    ("", "ResourceQuota"): core.RESOURCE_QUOTA_COLUMNS,
    ("", "Secret"): core.SECRET_COLUMNS,
    ("", "Service"): services.SERVICE_COLUMNS,
    ("", "ServiceAccount"): core.SERVICE_ACCOUNT_COLUMNS,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): (
        admissionregistration.MUTATING_ADMISSION_POLICY_COLUMNS
    ),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): (
        admissionregistration.MUTATING_ADMISSION_POLICY_BINDING_COLUMNS
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): (
        admissionregistration.MUTATING_WEBHOOK_CONFIGURATION_COLUMNS
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        admissionregistration.VALIDATING_ADMISSION_POLICY_COLUMNS
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        admissionregistration.VALIDATING_ADMISSION_POLICY_BINDING_COLUMNS
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): (
        admissionregistration.VALIDATING_WEBHOOK_CONFIGURATION_COLUMNS
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): apiextensions.CUSTOM_RESOURCE_DEFINITION_COLUMNS,
    ("apiregistration.k8s.io", "APIService"): apiregistration.API_SERVICE_COLUMNS,
    ("apps", "ControllerRevision"): apps.CONTROLLER_REVISION_COLUMNS,
    ("apps", "DaemonSet"): apps.DAEMON_SET_COLUMNS,
    ("apps", "Deployment"): apps.DEPLOYMENT_COLUMNS,
    ("apps", "ReplicaSet"): apps.REPLICA_SET_COLUMNS,
    ("apps", "StatefulSet"): apps.STATEFUL_SET_COLUMNS,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.HORIZONTAL_POD_AUTOSCALER_COLUMNS,
    ("batch", "CronJob"): batch.CRON_JOB_COLUMNS,
    ("batch", "Job"): batch.JOB_COLUMNS,
    ("certificates.k8s.io", "CertificateSigningRequest"): certificates.CERTIFICATE_SIGNING_REQUEST_COLUMNS,
    ("coordination.k8s.io", "Lease"): coordination.LEASE_COLUMNS,
    ("discovery.k8s.io", "EndpointSlice"): services.ENDPOINT_SLICE_COLUMNS,
    ("events.k8s.io", "Event"): events.EVENT_COLUMNS,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): flowcontrol.FLOW_SCHEMA_COLUMNS,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): flowcontrol.PRIORITY_LEVEL_CONFIGURATION_COLUMNS,
    ("networking.k8s.io", "IPAddress"): services.IP_ADDRESS_COLUMNS,
    ("networking.k8s.io", "Ingress"): services.INGRESS_COLUMNS,
    ("networking.k8s.io", "IngressClass"): services.INGRESS_CLASS_COLUMNS,
    ("networking.k8s.io", "NetworkPolicy"): services.NETWORK_POLICY_COLUMNS,
    ("networking.k8s.io", "ServiceCIDR"): services.SERVICE_CIDR_COLUMNS,
    ("node.k8s.io", "RuntimeClass"): node.RUNTIME_CLASS_COLUMNS,
    ("policy", "PodDisruptionBudget"): policy.POD_DISRUPTION_BUDGET_COLUMNS,
    ("rbac.authorization.k8s.io", "ClusterRole"): rbac.CLUSTER_ROLE_COLUMNS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac.CLUSTER_ROLE_BINDING_COLUMNS,
    ("rbac.authorization.k8s.io", "Role"): rbac.ROLE_COLUMNS,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac.ROLE_BINDING_COLUMNS,
    ("resource.k8s.io", "DeviceClass"): dynamic_resources.DEVICE_CLASS_COLUMNS,
    ("resource.k8s.io", "ResourceClaim"): dynamic_resources.RESOURCE_CLAIM_COLUMNS,
    ("resource.k8s.io", "ResourceClaimTemplate"): dynamic_resources.RESOURCE_CLAIM_TEMPLATE_COLUMNS,
    ("resource.k8s.io", "ResourceSlice"): dynamic_resources.RESOURCE_SLICE_COLUMNS,
    ("scheduling.k8s.io", "PriorityClass"): scheduling.PRIORITY_CLASS_COLUMNS,
    ("storage.k8s.io", "CSIDriver"): storage.CSI_DRIVER_COLUMNS,
    ("storage.k8s.io", "CSINode"): storage.CSI_NODE_COLUMNS,
    ("storage.k8s.io", "CSIStorageCapacity"): storage.CSI_STORAGE_CAPACITY_COLUMNS,
    ("storage.k8s.io", "StorageClass"): storage.STORAGE_CLASS_COLUMNS,
    ("storage.k8s.io", "VolumeAttachment"): storage.VOLUME_ATTACHMENT_COLUMNS,
    ("storage.k8s.io", "VolumeAttributesClass"): storage.VOLUME_ATTRIBUTES_CLASS_COLUMNS,
}
