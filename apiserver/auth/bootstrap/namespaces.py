"""Roles and bindings inside kube-system and kube-public.

Facts: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/namespace_policy.go (v1.36).
"""

from __future__ import annotations

from apiserver.auth.bootstrap.controllers import PREFIX
from apiserver.auth.bootstrap.spelling import EVENTS, READ, accounts, binding, role, rule, users
from apiserver.auth.bootstrap.users import KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from kubeloop.apimachinery.meta import Object

_SYSTEM, _PUBLIC = "kube-system", "kube-public"
_CONTROLLER_LOCK = "system::leader-locking-kube-controller-manager"
_SCHEDULER_LOCK = "system::leader-locking-kube-scheduler"
_AUTHENTICATION_READER = "extension-apiserver-authentication-reader"

_LOCKING = (
    rule(f"{READ} create update", "leases", "coordination.k8s.io"),
    rule(f"{READ} create update", "leasecandidates", "coordination.k8s.io"),
)

ROLES: tuple[Object, ...] = (
    role(
        _AUTHENTICATION_READER,
        rule(READ, "configmaps", names="extension-apiserver-authentication"),
        namespace=_SYSTEM,
    ),
    role(f"{PREFIX}bootstrap-signer", rule(READ, "secrets"), namespace=_SYSTEM),
    role(f"{PREFIX}cloud-provider", rule(f"create {READ}", "configmaps"), namespace=_SYSTEM),
    role(f"{PREFIX}token-cleaner", rule(f"{READ} delete", "secrets"), EVENTS, namespace=_SYSTEM),
    role(_CONTROLLER_LOCK, *_LOCKING, namespace=_SYSTEM),
    role(_SCHEDULER_LOCK, *_LOCKING, namespace=_SYSTEM),
    role(
        f"{PREFIX}bootstrap-signer",
        rule(READ, "configmaps"),
        rule("update", "configmaps", names="cluster-info"),
        EVENTS,
        namespace=_PUBLIC,
    ),
)

ROLE_BINDINGS: tuple[Object, ...] = (
    binding(
        _AUTHENTICATION_READER,
        users(KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER),
        name=f"system::{_AUTHENTICATION_READER}",
        namespace=_SYSTEM,
    ),
    binding(
        _CONTROLLER_LOCK,
        users(KUBE_CONTROLLER_MANAGER) + accounts("kube-controller-manager", "leader-election-controller"),
        namespace=_SYSTEM,
    ),
    binding(_SCHEDULER_LOCK, users(KUBE_SCHEDULER) + accounts("kube-scheduler"), namespace=_SYSTEM),
    binding(f"{PREFIX}bootstrap-signer", accounts("bootstrap-signer"), namespace=_SYSTEM),
    binding(f"{PREFIX}cloud-provider", accounts("cloud-provider"), namespace=_SYSTEM),
    binding(f"{PREFIX}token-cleaner", accounts("token-cleaner"), namespace=_SYSTEM),
    binding(f"{PREFIX}bootstrap-signer", accounts("bootstrap-signer"), namespace=_PUBLIC),
)
