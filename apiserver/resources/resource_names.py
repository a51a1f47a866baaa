"""Names of compute resources: which are Kubernetes' own, which may be overcommitted, which count whole things.

Used wherever resources are named: containers, nodes, quotas, limit ranges, claims.
"""

from __future__ import annotations

from functools import lru_cache

from apiserver.resources.checks import Errors, check_qualified_name
from kubeloop.apimachinery import field, validation

HUGE_PAGES_PREFIX = "hugepages-"
REQUESTS_PREFIX = "requests."
NATIVE_DOMAIN = "kubernetes.io/"

CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
POD_LEVEL_RESOURCES = frozenset({"cpu", "memory"})
COUNTED_RESOURCES = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
QUOTA_RESOURCES = COUNTED_RESOURCES | {
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
}
STANDARD_RESOURCES = QUOTA_RESOURCES | {"storage"}


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES_PREFIX)


def is_quota_huge_pages(name: str) -> bool:
    return name.startswith((HUGE_PAGES_PREFIX, REQUESTS_PREFIX + HUGE_PAGES_PREFIX))


def is_native(name: str) -> bool:
    return "/" not in name or NATIVE_DOMAIN in name


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """A device or the like of somebody else's domain (`example.com/gpu`)."""
    if is_native(name) or name.startswith(REQUESTS_PREFIX):
        return False
    return not validation.qualified_name_errors(REQUESTS_PREFIX + name)


def may_be_overcommitted(name: str) -> bool:
    """Whether requests may lie below limits."""
    return is_native(name) and not is_huge_pages(name)


def is_whole(name: str) -> bool:
    """Whether only whole numbers of it make sense."""
    return name in COUNTED_RESOURCES or is_extended(name)


def check_resource_name(name: str, path: str, errors: Errors) -> bool:
    """A qualified name, and a standard one where it has no domain; whether it was fine."""
    before = len(errors)
    check_qualified_name(name, path, errors)
    if len(errors) == before and "/" not in name and not (name in STANDARD_RESOURCES or is_quota_huge_pages(name)):
        errors.append(field.invalid(path, name, "must be a standard resource type or fully qualified"))
    return len(errors) == before


def check_container_resource_name(name: str, path: str, errors: Errors) -> None:
    if name in CONTAINER_RESOURCES:
        return
    check_resource_name(name, path, errors)
    if "/" not in name:
        if not is_huge_pages(name):
            errors.append(field.invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(field.invalid(path, name, "doesn't follow extended resource name standard"))


def check_pod_resource_name(name: str, path: str, errors: Errors) -> None:
    if check_resource_name(name, path, errors) and not (name in POD_LEVEL_RESOURCES or is_huge_pages(name)):
        errors.append(field.not_supported(path, name, ("cpu", HUGE_PAGES_PREFIX, "memory")))


def check_quota_resource_name(name: str, path: str, errors: Errors) -> None:
    check_resource_name(name, path, errors)
    if "/" not in name and not (name in QUOTA_RESOURCES or is_quota_huge_pages(name)):
        errors.append(field.invalid(path, name, "must be a standard resource for quota"))
