"""What each control loop may do under its own service account (`system:controller:<loop>` of kube-system).

Facts: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go (v1.36), default feature gates.
"""

from __future__ import annotations

from apiserver.auth.authorization import Rule
from apiserver.auth.bootstrap.spelling import EVENTS, READ, accounts, binding, role, rule
from kubeloop.apimachinery.meta import Object

PREFIX = "system:controller:"

_APPS, _BATCH, _CERTIFICATES, _DISCOVERY = "apps", "batch", "certificates.k8s.io", "discovery.k8s.io"
_NETWORKING, _RESOURCE, _STORAGE = "networking.k8s.io", "resource.k8s.io", "storage.k8s.io"
_APPS_AND_OLD = "apps,extensions"
_SIGNERS = (
    "kubernetes.io/legacy-unknown kubernetes.io/kube-apiserver-client "
    "kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving"
)

RULES: dict[str, tuple[Rule, ...]] = {
    "attachdetach-controller": (
        rule("list watch", "persistentvolumes persistentvolumeclaims"),
        rule(READ, "nodes"),
        rule("patch update", "nodes/status"),
        rule("list watch", "pods"),
        EVENTS,
        rule(f"{READ} create delete", "volumeattachments", _STORAGE),
        rule(READ, "csidrivers", _STORAGE),
        rule(READ, "csinodes", _STORAGE),
    ),
    "clusterrole-aggregation-controller": (
        rule(f"escalate {READ} update patch", "clusterroles", "rbac.authorization.k8s.io"),
    ),
    "cronjob-controller": (
        rule(f"{READ} update", "cronjobs", _BATCH),
        rule(f"{READ} create update delete patch", "jobs", _BATCH),
        rule("update", "cronjobs/status", _BATCH),
        rule("update", "cronjobs/finalizers", _BATCH),
        rule("list watch delete", "pods"),
        EVENTS,
    ),
    "daemon-set-controller": (
        rule(READ, "daemonsets", _APPS_AND_OLD),
        rule("update", "daemonsets/status", _APPS_AND_OLD),
        rule("update", "daemonsets/finalizers", _APPS_AND_OLD),
        rule("list watch", "nodes"),
        rule("list watch create delete patch", "pods"),
        rule("create", "pods/binding"),
        rule(f"{READ} create delete update patch", "controllerrevisions", _APPS),
        EVENTS,
    ),
    "deployment-controller": (
        rule(f"{READ} update", "deployments", _APPS_AND_OLD),
        rule("update", "deployments/status", _APPS_AND_OLD),
        rule("update", "deployments/finalizers", _APPS_AND_OLD),
        rule(f"{READ} create update patch delete", "replicasets", _APPS_AND_OLD),
        rule(f"{READ} update", "pods"),
        EVENTS,
    ),
    "disruption-controller": (
        rule(READ, "deployments", _APPS_AND_OLD),
        rule(READ, "replicasets", _APPS_AND_OLD),
        rule(READ, "replicationcontrollers"),
        rule(READ, "poddisruptionbudgets", "policy"),
        rule(READ, "statefulsets", _APPS),
        rule("update", "poddisruptionbudgets/status", "policy"),
        rule("patch update", "pods/status"),
        rule("get", "*/scale", "*"),
        EVENTS,
    ),
    "endpoint-controller": (
        rule(READ, "services pods"),
        rule(f"{READ} create update delete", "endpoints"),
        rule("create", "endpoints/restricted"),
        EVENTS,
    ),
    "endpointslice-controller": (
        rule(READ, "services pods nodes"),
        rule("update", "services/finalizers"),
        rule(f"{READ} create update delete", "endpointslices", _DISCOVERY),
        rule("create", "endpointslices/restricted", _DISCOVERY),
        EVENTS,
    ),
    "endpointslicemirroring-controller": (
        rule(READ, "services endpoints"),
        rule("update", "services/finalizers"),
        rule("update", "endpoints/finalizers"),
        rule(f"{READ} create update delete", "endpointslices", _DISCOVERY),
        rule("create", "endpointslices/restricted", _DISCOVERY),
        EVENTS,
    ),
    "expand-controller": (
        rule(f"{READ} update patch", "persistentvolumes"),
        rule("update patch", "persistentvolumeclaims/status"),
        rule(READ, "persistentvolumeclaims"),
        EVENTS,
    ),
    "ephemeral-volume-controller": (
        rule(READ, "pods"),
        rule("update", "pods/finalizers"),
        rule(f"{READ} create", "persistentvolumeclaims"),
        EVENTS,
    ),
    "resource-claim-controller": (
        rule(READ, "pods"),
        rule("update", "pods/finalizers"),
        rule(f"{READ} create delete", "resourceclaims", _RESOURCE),
        rule("update patch", "resourceclaims resourceclaims/status", _RESOURCE),
        rule("update patch", "pods/status"),
        EVENTS,
        rule("update patch", "resourceclaims/binding", _RESOURCE),
    ),
    "device-taint-eviction-controller": (
        rule(f"{READ} delete", "pods"),
        rule("update patch", "pods/status"),
        rule(READ, "resourceclaims", _RESOURCE),
        rule(READ, "resourceslices", _RESOURCE),
        rule(READ, "deviceclasses", _RESOURCE),
        EVENTS,
    ),
    "generic-garbage-collector": (rule(f"{READ} patch update delete", "*", "*"), EVENTS),
    "horizontal-pod-autoscaler": (
        rule(READ, "horizontalpodautoscalers", "autoscaling"),
        rule("update", "horizontalpodautoscalers/status", "autoscaling"),
        rule("get update", "*/scale", "*"),
        rule("list watch", "pods"),
        rule("list watch", "pods", "metrics.k8s.io"),
        rule(READ, "*", "custom.metrics.k8s.io"),
        rule(READ, "*", "external.metrics.k8s.io"),
        EVENTS,
    ),
    "job-controller": (
        rule(f"{READ} update patch", "jobs", _BATCH),
        rule("update", "jobs/status", _BATCH),
        rule("update", "jobs/finalizers", _BATCH),
        rule("list watch create delete patch", "pods"),
        EVENTS,
    ),
    "namespace-controller": (
        rule(f"{READ} delete", "namespaces"),
        rule("update", "namespaces/finalize namespaces/status"),
        rule(f"{READ} delete deletecollection", "*", "*"),
    ),
    "node-controller": (
        rule(f"{READ} update delete patch", "nodes"),
        rule("patch update", "nodes/status"),
        rule("patch update", "pods/status"),
        rule(f"{READ} delete", "pods"),
        EVENTS,
    ),
    "persistent-volume-binder": (
        rule(f"{READ} update create delete", "persistentvolumes"),
        rule("update", "persistentvolumes/status"),
        rule(f"{READ} update", "persistentvolumeclaims"),
        rule("update", "persistentvolumeclaims/status"),
        rule(f"{READ} create delete", "pods"),
        rule(READ, "storageclasses", _STORAGE),
        rule("list watch", "nodes"),
        EVENTS,
        rule("watch", "events"),
    ),
    "pod-garbage-collector": (
        rule("list watch delete", "pods"),
        rule(READ, "nodes"),
        rule("patch", "pods/status"),
    ),
    "replicaset-controller": (
        rule(f"{READ} update", "replicasets", _APPS_AND_OLD),
        rule("update", "replicasets/status", _APPS_AND_OLD),
        rule("update", "replicasets/finalizers", _APPS_AND_OLD),
        rule("list watch patch create delete", "pods"),
        EVENTS,
    ),
    "replication-controller": (
        rule(f"{READ} update", "replicationcontrollers"),
        rule("update", "replicationcontrollers/status"),
        rule("update", "replicationcontrollers/finalizers"),
        rule("list watch patch create delete", "pods"),
        EVENTS,
    ),
    "resourcequota-controller": (
        rule("list watch", "*", "*"),
        rule("update", "resourcequotas/status"),
        EVENTS,
    ),
    "route-controller": (rule("list watch", "nodes"), rule("patch", "nodes/status"), EVENTS),
    "service-account-controller": (rule("create", "serviceaccounts"), EVENTS),
    "service-controller": (
        rule(READ, "services"),
        rule("patch update", "services/status"),
        rule("list watch", "nodes"),
        EVENTS,
    ),
    "service-cidrs-controller": (
        rule(f"{READ} patch update", "servicecidrs", _NETWORKING),
        rule("patch update", "servicecidrs/finalizers", _NETWORKING),
        rule("patch update", "servicecidrs/status", _NETWORKING),
        rule(READ, "ipaddresses", _NETWORKING),
        EVENTS,
    ),
    "statefulset-controller": (
        rule("list watch", "pods"),
        rule(READ, "statefulsets", _APPS),
        rule("update", "statefulsets/status", _APPS),
        rule("update", "statefulsets/finalizers", _APPS),
        rule("get create delete update patch", "pods"),
        rule(f"{READ} create delete update patch", "controllerrevisions", _APPS),
        rule(f"{READ} create", "persistentvolumeclaims"),
        rule("update delete", "persistentvolumeclaims"),
        rule("update", "pods/finalizers"),
        EVENTS,
    ),
    "ttl-controller": (rule("update patch list watch", "nodes"), EVENTS),
    "certificate-controller": (
        rule(f"{READ} delete", "certificatesigningrequests", _CERTIFICATES),
        rule("update", "certificatesigningrequests/status certificatesigningrequests/approval", _CERTIFICATES),
        rule("approve", "signers", _CERTIFICATES, "kubernetes.io/kube-apiserver-client-kubelet"),
        rule("sign", "signers", _CERTIFICATES, _SIGNERS),
        rule("create", "subjectaccessreviews", "authorization.k8s.io"),
        EVENTS,
    ),
    "pvc-protection-controller": (
        rule(f"{READ} update", "persistentvolumeclaims"),
        rule("update", "persistentvolumeclaims/status"),
        rule(READ, "pods"),
        EVENTS,
    ),
    "pv-protection-controller": (rule(f"{READ} update", "persistentvolumes"), EVENTS),
    "volumeattributesclass-protection-controller": (
        rule(READ, "persistentvolumeclaims"),
        rule(READ, "persistentvolumes"),
        rule(f"{READ} update", "volumeattributesclasses", _STORAGE),
        EVENTS,
    ),
    "ttl-after-finished-controller": (rule(f"{READ} delete", "jobs", _BATCH), EVENTS),
    "root-ca-cert-publisher": (rule("create update", "configmaps"), EVENTS),
    "validatingadmissionpolicy-status-controller": (
        rule(READ, "validatingadmissionpolicies", "admissionregistration.k8s.io"),
        rule("get patch update", "validatingadmissionpolicies/status", "admissionregistration.k8s.io"),
        EVENTS,
    ),
    "legacy-service-account-token-cleaner": (
        rule("get", "configmaps", names="kube-apiserver-legacy-service-account-token-tracking"),
        rule("patch delete", "secrets"),
    ),
    "selinux-warning-controller": (
        EVENTS,
        rule(READ, "persistentvolumes"),
        rule(READ, "persistentvolumeclaims"),
        rule(READ, "pods"),
        rule(READ, "csidrivers", _STORAGE),
    ),
}

CLUSTER_ROLES: tuple[Object, ...] = tuple(role(PREFIX + name, *rules) for name, rules in RULES.items())
CLUSTER_ROLE_BINDINGS: tuple[Object, ...] = tuple(binding(PREFIX + name, accounts(name)) for name in RULES)
