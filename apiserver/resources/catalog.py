"""Every built-in kind of Kubernetes v1.36's GA API groups, one line a kind, groups in the real server's order.

What a kind does differently stands in its strategy (`strategies.py` lists them), how it prints in `columns.py`.
"""

from __future__ import annotations

from apiserver.registry.catalog import CREATE_ONLY, READ_WRITE, Conversion, Kind, Subresource
from apiserver.registry.strategy import Strategy
from apiserver.resources.columns import COLUMNS
from apiserver.resources.conversions import CONVERSIONS
from apiserver.resources.strategies import STRATEGIES
from kubeloop.apimachinery.resource import Resource

_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")


def _status(kind: str) -> Subresource:
    return Subresource("status", kind)


_SCALE = Subresource("scale", "Scale", group="autoscaling", version="v1")

_POD_SUBRESOURCES = (
    Subresource("attach", "PodAttachOptions", _CONNECT),
    Subresource("binding", "Binding", CREATE_ONLY),
    Subresource("ephemeralcontainers", "Pod"),
    Subresource("eviction", "Eviction", CREATE_ONLY, "policy", "v1"),
    Subresource("exec", "PodExecOptions", _CONNECT),
    Subresource("log", "Pod", ("get",)),
    Subresource("portforward", "PodPortForwardOptions", _CONNECT),
    Subresource("proxy", "PodProxyOptions", _PROXY),
    Subresource("resize", "Pod"),
    Subresource("status", "Pod"),
)
_NAMESPACE_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


def _kind(
    group_version: str,
    plural: str,
    kind: str,
    *subresources: Subresource,
    short: str = "",
    cluster: bool = False,
    category: str = "",
    verbs: tuple[str, ...] = READ_WRITE,
    singular: str = "",
    stored_as: str = "",
    deprecation: str = "",
    hashed_version: str = "",
) -> Kind:
    """One row. `stored_as`: the storage resource of the stored version, if another."""
    group, _, version = group_version.rpartition("/")
    resource = Resource(group, version, plural, kind, namespaced=not cluster)
    conversion: Conversion | None = CONVERSIONS.get((group, version, kind))
    return Kind(
        resource=resource,
        singular=singular or kind.lower(),
        strategy=STRATEGIES.get((group, kind)) or Strategy(),
        short_names=tuple(short.split()),
        categories=(category,) if category else (),
        verbs=verbs,
        subresources=subresources,
        columns=COLUMNS.get((group, kind), ()),
        storage=(stored_as or str(resource)) if "list" in verbs else "",
        conversion=conversion,
        deprecation=deprecation,
        hashed_version=hashed_version,
    )


_APPS, _BATCH, _NETWORKING = "apps/v1", "batch/v1", "networking.k8s.io/v1"
_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io/v1", "authentication.k8s.io/v1"
_RBAC, _STORAGE, _ADMISSION = "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1", "admissionregistration.k8s.io/v1"
_EXTENSIONS = "api-extensions"  # the category
_FLOW, _DYNAMIC = "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1"

KINDS: tuple[Kind, ...] = (
    _kind("v1", "bindings", "Binding", verbs=CREATE_ONLY),
    _kind(
        "v1",
        "componentstatuses",
        "ComponentStatus",
        short="cs",
        cluster=True,
        verbs=("get", "list"),
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
    ),
    _kind("v1", "configmaps", "ConfigMap", short="cm"),
    _kind(
        "v1",
        "endpoints",
        "Endpoints",
        short="ep",
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    _kind("v1", "events", "Event", short="ev"),
    _kind("v1", "limitranges", "LimitRange", short="limits"),
    _kind(
        "v1",
        "namespaces",
        "Namespace",
        Subresource("finalize", "Namespace", ("update",)),
        _status("Namespace"),
        short="ns",
        cluster=True,
        verbs=_NAMESPACE_VERBS,
    ),
    _kind(
        "v1",
        "nodes",
        "Node",
        Subresource("proxy", "NodeProxyOptions", _PROXY),
        _status("Node"),
        short="no",
        cluster=True,
    ),
    _kind("v1", "persistentvolumeclaims", "PersistentVolumeClaim", _status("PersistentVolumeClaim"), short="pvc"),
    _kind("v1", "persistentvolumes", "PersistentVolume", _status("PersistentVolume"), short="pv", cluster=True),
    _kind("v1", "pods", "Pod", *_POD_SUBRESOURCES, short="po", category="all"),
    _kind("v1", "podtemplates", "PodTemplate"),
    _kind(
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        _SCALE,
        _status("ReplicationController"),
        short="rc",
        category="all",
    ),
    _kind("v1", "resourcequotas", "ResourceQuota", _status("ResourceQuota"), short="quota"),
    _kind("v1", "secrets", "Secret"),
    _kind(
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        Subresource("token", "TokenRequest", CREATE_ONLY, "authentication.k8s.io", "v1"),
        short="sa",
    ),
    _kind(
        "v1",
        "services",
        "Service",
        Subresource("proxy", "ServiceProxyOptions", _PROXY),
        _status("Service"),
        short="svc",
        category="all",
    ),
    _kind(
        "apiregistration.k8s.io/v1",
        "apiservices",
        "APIService",
        _status("APIService"),
        cluster=True,
        category=_EXTENSIONS,
    ),
    _kind(_APPS, "controllerrevisions", "ControllerRevision"),
    _kind(_APPS, "daemonsets", "DaemonSet", _status("DaemonSet"), short="ds", category="all"),
    _kind(_APPS, "deployments", "Deployment", _SCALE, _status("Deployment"), short="deploy", category="all"),
    _kind(_APPS, "replicasets", "ReplicaSet", _SCALE, _status("ReplicaSet"), short="rs", category="all"),
    _kind(_APPS, "statefulsets", "StatefulSet", _SCALE, _status("StatefulSet"), short="sts", category="all"),
    _kind("events.k8s.io/v1", "events", "Event", short="ev", stored_as="events"),
    _kind(_AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview", cluster=True, verbs=CREATE_ONLY),
    _kind(_AUTHENTICATION, "tokenreviews", "TokenReview", cluster=True, verbs=CREATE_ONLY),
    _kind(_AUTHORIZATION, "localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=CREATE_ONLY),
    _kind(_AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview", cluster=True, verbs=CREATE_ONLY),
    _kind(_AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview", cluster=True, verbs=CREATE_ONLY),
    _kind(_AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview", cluster=True, verbs=CREATE_ONLY),
    _kind(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        _status("HorizontalPodAutoscaler"),
        short="hpa",
        category="all",
    ),
    _kind(
        "autoscaling/v1",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        _status("HorizontalPodAutoscaler"),
        short="hpa",
        category="all",
    ),
    _kind(_BATCH, "cronjobs", "CronJob", _status("CronJob"), short="cj", category="all"),
    _kind(_BATCH, "jobs", "Job", _status("Job"), category="all"),
    _kind(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
        Subresource("approval", "CertificateSigningRequest"),
        _status("CertificateSigningRequest"),
        short="csr",
        cluster=True,
    ),
    _kind(_NETWORKING, "ingressclasses", "IngressClass", cluster=True),
    _kind(_NETWORKING, "ingresses", "Ingress", _status("Ingress"), short="ing"),
    _kind(_NETWORKING, "ipaddresses", "IPAddress", short="ip", cluster=True),
    _kind(_NETWORKING, "networkpolicies", "NetworkPolicy", short="netpol"),
    _kind(_NETWORKING, "servicecidrs", "ServiceCIDR", _status("ServiceCIDR"), cluster=True),
    _kind("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", _status("PodDisruptionBudget"), short="pdb"),
    _kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding", cluster=True),
    _kind(_RBAC, "clusterroles", "ClusterRole", cluster=True),
    _kind(_RBAC, "rolebindings", "RoleBinding"),
    _kind(_RBAC, "roles", "Role"),
    _kind(_STORAGE, "csidrivers", "CSIDriver", cluster=True),
    _kind(_STORAGE, "csinodes", "CSINode", cluster=True),
    _kind(_STORAGE, "csistoragecapacities", "CSIStorageCapacity"),
    _kind(_STORAGE, "storageclasses", "StorageClass", short="sc", cluster=True),
    _kind(_STORAGE, "volumeattachments", "VolumeAttachment", _status("VolumeAttachment"), cluster=True),
    _kind(_STORAGE, "volumeattributesclasses", "VolumeAttributesClass", short="vac", cluster=True),
    _kind(
        _ADMISSION,
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy",
        cluster=True,
        category=_EXTENSIONS,
        hashed_version="v1beta1",
    ),
    _kind(
        _ADMISSION,
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        cluster=True,
        category=_EXTENSIONS,
        hashed_version="v1beta1",
    ),
    _kind(
        _ADMISSION, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", cluster=True, category=_EXTENSIONS
    ),
    _kind(
        _ADMISSION,
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        _status("ValidatingAdmissionPolicy"),
        cluster=True,
        category=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        cluster=True,
        category=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        cluster=True,
        category=_EXTENSIONS,
    ),
    _kind(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        _status("CustomResourceDefinition"),
        short="crd crds",
        cluster=True,
        category=_EXTENSIONS,
        hashed_version="v1beta1",
    ),
    _kind("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", short="pc", cluster=True),
    _kind("coordination.k8s.io/v1", "leases", "Lease"),
    _kind("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", cluster=True),
    _kind("discovery.k8s.io/v1", "endpointslices", "EndpointSlice"),
    _kind(_DYNAMIC, "deviceclasses", "DeviceClass", cluster=True),
    _kind(_DYNAMIC, "resourceclaims", "ResourceClaim", _status("ResourceClaim")),
    _kind(_DYNAMIC, "resourceclaimtemplates", "ResourceClaimTemplate"),
    _kind(_DYNAMIC, "resourceslices", "ResourceSlice", cluster=True),
    _kind(_FLOW, "flowschemas", "FlowSchema", _status("FlowSchema"), cluster=True),
    _kind(
        _FLOW,
        "prioritylevelconfigurations",
        "PriorityLevelConfiguration",
        _status("PriorityLevelConfiguration"),
        cluster=True,
    ),
)
