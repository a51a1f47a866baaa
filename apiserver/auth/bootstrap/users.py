"""The cluster roles for people, nodes and components, and who has them from the start.

Facts: plugin/pkg/auth/authorizer/rbac/bootstrappolicy (v1.36), with the feature gates that are on by default.
"""

from __future__ import annotations

from apiserver.auth.authentication import ALL_AUTHENTICATED, ALL_SERVICE_ACCOUNTS, ALL_UNAUTHENTICATED, MASTERS
from apiserver.auth.bootstrap.spelling import (
    EVENTS,
    READ,
    READ_UPDATE,
    READ_WRITE,
    WRITE,
    accounts,
    binding,
    groups,
    paths,
    role,
    rule,
    users,
)
from kubeloop.apimachinery.meta import Object

KUBE_CONTROLLER_MANAGER = "system:kube-controller-manager"
KUBE_SCHEDULER = "system:kube-scheduler"
KUBE_PROXY = "system:kube-proxy"
MONITORING = "system:monitoring"

_APPS, _AUTHENTICATION, _AUTHORIZATION = "apps", "authentication.k8s.io", "authorization.k8s.io"
_CERTIFICATES, _COORDINATION, _DISCOVERY = "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io"
_EXTENSIONS, _NETWORKING, _RESOURCE, _STORAGE = "extensions", "networking.k8s.io", "resource.k8s.io", "storage.k8s.io"

_HEALTH = "/livez /readyz /healthz"
_VERSION = "/version /version/"

_VIEW = (
    rule(
        READ,
        "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status endpoints "
        "persistentvolumeclaims persistentvolumeclaims/status configmaps",
    ),
    rule(
        READ,
        "limitranges resourcequotas bindings pods/status resourcequotas/status namespaces/status "
        "replicationcontrollers/status pods/log",
    ),
    rule(READ, "namespaces"),
    rule(READ, "events", ",events.k8s.io"),
    rule(READ, "endpointslices", _DISCOVERY),
    rule(
        READ,
        "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status "
        "deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale",
        _APPS,
    ),
    rule(READ, "horizontalpodautoscalers horizontalpodautoscalers/status", "autoscaling"),
    rule(READ, "jobs cronjobs cronjobs/status jobs/status", "batch"),
    rule(
        READ,
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
        "replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies",
        _EXTENSIONS,
    ),
    rule(READ, "poddisruptionbudgets poddisruptionbudgets/status", "policy"),
    rule(READ, "networkpolicies ingresses ingresses/status", _NETWORKING),
    rule(READ, "resourceclaims resourceclaims/status resourceclaimtemplates", _RESOURCE),
)

_EDIT = (
    # Reading these escalates: secrets, and what runs inside pods.
    rule(READ, "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
    rule("impersonate", "serviceaccounts"),
    rule(WRITE, "pods pods/attach pods/proxy pods/exec pods/portforward"),
    rule("create", "pods/eviction"),
    rule(
        WRITE,
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
        "persistentvolumeclaims configmaps secrets",
    ),
    rule("create", "serviceaccounts/token"),
    rule(WRITE, "events", ",events.k8s.io"),
    rule(
        WRITE,
        "statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback replicasets "
        "replicasets/scale",
        _APPS,
    ),
    rule(WRITE, "horizontalpodautoscalers", "autoscaling"),
    rule(WRITE, "jobs cronjobs", "batch"),
    rule(
        WRITE,
        "daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale "
        "replicationcontrollers/scale networkpolicies",
        _EXTENSIONS,
    ),
    rule(WRITE, "poddisruptionbudgets", "policy"),
    rule(WRITE, "networkpolicies ingresses", _NETWORKING),
    rule(READ_WRITE, "leases", _COORDINATION),
    rule(WRITE, "resourceclaims resourceclaimtemplates", _RESOURCE),
)

_ADMIN = (
    rule("create", "localsubjectaccessreviews", _AUTHORIZATION),
    rule(READ_WRITE, "roles rolebindings", "rbac.authorization.k8s.io"),
)

NODE_RULES = (
    rule("create", "tokenreviews", _AUTHENTICATION),
    rule("create", "subjectaccessreviews localsubjectaccessreviews", _AUTHORIZATION),
    rule(READ, "services"),
    rule(f"create {READ}", "nodes"),
    rule("update patch", "nodes/status"),
    rule("update patch", "nodes"),
    EVENTS,
    rule(READ, "pods"),
    rule("create delete", "pods"),
    rule("update patch", "pods/status"),
    rule("create", "pods/eviction"),
    rule(READ, "secrets configmaps"),
    rule("get", "persistentvolumeclaims persistentvolumes"),
    rule("get", "endpoints"),
    rule(f"create {READ}", "certificatesigningrequests", _CERTIFICATES),
    rule("get create update patch delete", "leases", _COORDINATION),
    rule("get", "volumeattachments", _STORAGE),
    rule("create", "serviceaccounts/token"),
    rule("get update patch", "persistentvolumeclaims/status"),
    rule(READ, "csidrivers", _STORAGE),
    rule("get create update patch delete", "csinodes", _STORAGE),
    rule(READ, "runtimeclasses", "node.k8s.io"),
    rule("get", "resourceclaims", _RESOURCE),
    rule("deletecollection", "resourceslices", _RESOURCE),
    rule("get", "serviceaccounts"),
)

_SCHEDULER = (
    EVENTS,
    rule("create", "leases", _COORDINATION),
    rule("get update list watch", "leases", _COORDINATION, "kube-scheduler"),
    rule(READ_WRITE, "leasecandidates", _COORDINATION),
    rule(READ, "nodes"),
    rule(f"{READ} delete", "pods"),
    rule("create", "pods/binding bindings"),
    rule("patch update", "pods/status"),
    rule(READ, "services replicationcontrollers"),
    rule(READ, "replicasets", f"{_APPS},{_EXTENSIONS}"),
    rule(READ, "statefulsets", _APPS),
    rule(READ, "poddisruptionbudgets", "policy"),
    rule(READ, "persistentvolumeclaims persistentvolumes"),
    rule("create", "tokenreviews", _AUTHENTICATION),
    rule("create", "subjectaccessreviews", _AUTHORIZATION),
    rule(READ, "csinodes", _STORAGE),
    rule(READ, "volumeattachments", _STORAGE),
    rule(READ, "namespaces"),
    rule(READ, "csidrivers", _STORAGE),
    rule(READ, "csistoragecapacities", _STORAGE),
    rule(READ, "deviceclasses", _RESOURCE),
    rule(READ_UPDATE, "resourceclaims", _RESOURCE),
    rule(READ_UPDATE, "resourceclaims/status", _RESOURCE),
    rule("update", "pods/finalizers"),
    rule(READ, "resourceslices", _RESOURCE),
    rule("create delete", "resourceclaims", _RESOURCE),
    rule("update patch", "resourceclaims/binding", _RESOURCE),
)

_CONTROLLER_MANAGER = (
    EVENTS,
    rule("create", "leases", _COORDINATION),
    rule("get update", "leases", _COORDINATION, "kube-controller-manager"),
    rule("create", "secrets serviceaccounts"),
    rule("delete", "secrets"),
    rule("get", "namespaces secrets serviceaccounts configmaps"),
    rule("update", "secrets serviceaccounts"),
    rule("create", "tokenreviews", _AUTHENTICATION),
    rule("create", "subjectaccessreviews", _AUTHORIZATION),
    rule("list watch", "*", "*"),
    rule("create", "serviceaccounts/token"),
)


def _signer(name: str, signer: str) -> Object:
    """A role that approves requests to one of Kubernetes' own signers."""
    return role(f"system:certificates.k8s.io:{name}", rule("approve", "signers", _CERTIFICATES, signer))


CLUSTER_ROLES: tuple[Object, ...] = (
    role("cluster-admin", rule("*", "*", "*"), paths("*", "*")),
    role("system:discovery", paths("get", f"{_HEALTH} {_VERSION} /openapi /openapi/* /api /api/* /apis /apis/*")),
    role(
        "system:monitoring",
        paths("get", f"/metrics /metrics/slis {_HEALTH} /livez/* /readyz/* /healthz/* /flagz /statusz"),
        rule("get", "nodes/metrics"),
    ),
    role(
        "system:basic-user",
        rule("create", "selfsubjectaccessreviews selfsubjectrulesreviews", _AUTHORIZATION),
        rule("create", "selfsubjectreviews", _AUTHENTICATION),
    ),
    role("system:public-info-viewer", paths("get", f"{_HEALTH} {_VERSION}")),
    # The recorded server lets everybody read the discovery documents; Kubernetes as released, service accounts only.
    role("system:well-known-viewer", paths("get", "/.well-known /.well-known/*")),
    role("admin", aggregates="admin"),
    role("edit", label="admin", aggregates="edit"),
    role("view", label="edit", aggregates="view"),
    role("system:aggregate-to-admin", *_ADMIN, label="admin"),
    role("system:aggregate-to-edit", *_EDIT, label="edit"),
    role("system:aggregate-to-view", *_VIEW, label="view"),
    role(
        "system:heapster",
        rule(READ, "events pods nodes namespaces"),
        rule(READ, "deployments", _EXTENSIONS),
    ),
    role("system:node", *NODE_RULES),
    role("system:node-problem-detector", rule("get", "nodes"), rule("patch", "nodes/status"), EVENTS),
    role("system:node-bootstrapper", rule(f"create {READ}", "certificatesigningrequests", _CERTIFICATES)),
    role(
        "system:auth-delegator",
        rule("create", "tokenreviews", _AUTHENTICATION),
        rule("create", "subjectaccessreviews", _AUTHORIZATION),
    ),
    role("system:kube-aggregator", rule(READ, "services endpoints")),
    role("system:kube-controller-manager", *_CONTROLLER_MANAGER),
    role("system:kube-dns", rule("list watch", "endpoints services")),
    role(
        "system:persistent-volume-provisioner",
        rule(f"{READ} create delete", "persistentvolumes"),
        rule(f"{READ} update", "persistentvolumeclaims"),
        rule(READ, "storageclasses", _STORAGE),
        rule("watch", "events"),
        EVENTS,
    ),
    role(
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        rule("create", "certificatesigningrequests/nodeclient", _CERTIFICATES),
    ),
    role(
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        rule("create", "certificatesigningrequests/selfnodeclient", _CERTIFICATES),
    ),
    role(
        "system:volume-scheduler",
        rule(READ_UPDATE, "persistentvolumes"),
        rule(READ, "storageclasses", _STORAGE),
        rule(READ_UPDATE, "persistentvolumeclaims"),
    ),
    _signer("legacy-unknown-approver", "kubernetes.io/legacy-unknown"),
    _signer("kubelet-serving-approver", "kubernetes.io/kubelet-serving"),
    _signer("kube-apiserver-client-approver", "kubernetes.io/kube-apiserver-client"),
    _signer("kube-apiserver-client-kubelet-approver", "kubernetes.io/kube-apiserver-client-kubelet"),
    role(
        "system:service-account-issuer-discovery",
        paths(
            "get",
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        ),
    ),
    role(
        "system:kubelet-api-admin",
        rule(READ, "nodes"),
        rule("proxy", "nodes"),
        rule("*", "nodes/proxy nodes/metrics nodes/stats nodes/log"),
        rule("*", "nodes/pods nodes/healthz nodes/configz"),
    ),
    role(
        "system:node-proxier",
        rule("list watch", "services endpoints"),
        rule(READ, "nodes"),
        EVENTS,
        rule("list watch", "servicecidrs", _NETWORKING),
        rule("list watch", "endpointslices", _DISCOVERY),
    ),
    role("system:kube-scheduler", *_SCHEDULER),
)

CLUSTER_ROLE_BINDINGS: tuple[Object, ...] = (
    binding("cluster-admin", groups(MASTERS)),
    binding("system:monitoring", groups(MONITORING)),
    binding("system:discovery", groups(ALL_AUTHENTICATED)),
    binding("system:basic-user", groups(ALL_AUTHENTICATED)),
    binding("system:public-info-viewer", groups(ALL_AUTHENTICATED, ALL_UNAUTHENTICATED)),
    binding("system:well-known-viewer", groups(ALL_AUTHENTICATED, ALL_UNAUTHENTICATED)),
    binding("system:node-proxier", users(KUBE_PROXY)),
    binding("system:kube-controller-manager", users(KUBE_CONTROLLER_MANAGER)),
    binding("system:kube-dns", accounts("kube-dns")),
    binding("system:kube-scheduler", users(KUBE_SCHEDULER)),
    binding("system:volume-scheduler", users(KUBE_SCHEDULER)),
    binding("system:node", ()),  # nodes are let in by the Node authorizer; the binding stays for those who fill it
    binding("system:service-account-issuer-discovery", groups(ALL_SERVICE_ACCOUNTS)),
)
