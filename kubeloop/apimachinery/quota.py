"""What an object costs in a ResourceQuota, and whether a quota concerns it.

The admission plugin charges with this and the quota loop recounts with it, so both always agree. Semantics:
pkg/quota/v1/evaluator/core and apiserver/pkg/quota/v1 (v1.36). Resources are named as storage does: "pods",
"deployments.apps".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, metadata
from kubeloop.apimachinery.pod_resources import Quantities, add, has_pod_level_resources, pod_limits, pod_requests
from kubeloop.apimachinery.quantity import ZERO, Quantity, of_value, parse
from kubeloop.apimachinery.times import parse_time

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
RESOURCE_CLAIMS = "resourceclaims.resource.k8s.io"

# Never counted: reviews and bindings are not stored, events have always been free.
IGNORED = frozenset(
    {
        "bindings",
        "componentstatuses",
        "events",
        "events.events.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "tokenreviews.authentication.k8s.io",
    }
)

# Counted under a name of their own besides count/<resource>.
_ALIASES = frozenset({"configmaps", "replicationcontrollers", "resourcequotas", "secrets"})

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_RESOURCES = frozenset(
    {"count/pods", "pods", *_COMPUTE, *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _COMPUTE)}
)
# A quota on one of these obliges every container to state it; a mistake of the early days that is kept.
_STATED_BY_EVERY_CONTAINER = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_SERVICE_RESOURCES = frozenset({"count/services", "services", "services.loadbalancers", "services.nodeports"})
_CLAIM_RESOURCES = ("persistentvolumeclaims", "requests.storage")
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_IMPLICIT_DEVICES = "deviceclass.resource.kubernetes.io/"  # devices of a class, asked for as an extended resource
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MOST_DEVICES = 32  # what a request for all devices counts for

_ONE = of_value(1)
_FINISHED = ("Failed", "Succeeded")

Scope = Mapping[str, Any]  # a ScopedResourceSelectorRequirement: scopeName, operator, values


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How objects of one resource count.

    `matching` picks those names of a quota that it counts; `usage` is what one object costs now; `in_scope` whether an
    object falls under a scope.
    """

    matching: Callable[[Iterable[str]], list[str]]
    usage: Callable[[ReadOnlyObject, datetime], Quantities]
    in_scope: Callable[[Scope, ReadOnlyObject], bool]


def evaluator_of(resource: str) -> Evaluator:
    """The evaluator of a resource: most are only counted."""
    return _EVALUATORS.get(resource) or _object_count(resource)


def counted_resources(hard: Iterable[str]) -> list[str]:
    """The resources whose objects a quota counts, for whoever has to count them all."""
    names = set(hard)
    known = {resource for resource in (*_EVALUATORS, *_ALIASES) if evaluator_of(resource).matching(names)}
    return sorted(known | {name.removeprefix("count/") for name in names if name.startswith("count/")})


def scopes_of(quota: ReadOnlyObject) -> list[Scope]:
    """The scopes an object must fall under for the quota to concern it."""
    spec = quota.get("spec") or {}
    plain: list[Scope] = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def concerns(quota: ReadOnlyObject, evaluator: Evaluator, obj: ReadOnlyObject) -> bool:
    """Whether the quota counts the object: it limits something the object uses, and its scopes hold."""
    hard = (quota.get("status") or {}).get("hard") or ()
    return bool(evaluator.matching(hard)) and all(evaluator.in_scope(scope, obj) for scope in scopes_of(quota))


def total_usage(
    hard: Iterable[str], scopes: Sequence[Scope], evaluator: Evaluator, objects: Iterable[ReadOnlyObject], now: datetime
) -> Quantities:
    """What all objects of a resource cost together, of the names in `hard` that its evaluator counts."""
    names = evaluator.matching(hard)
    total: Quantities = dict.fromkeys(names, ZERO)
    for obj in objects:
        if all(evaluator.in_scope(scope, obj) for scope in scopes):
            total = add(total, evaluator.usage(obj, now))
    return {name: total[name] for name in names}


def missing_constraints(pod: ReadOnlyObject, required: Iterable[str]) -> str:
    """`must specify limits.memory for: a,b; requests.cpu for: a` where containers leave out what a quota counts."""
    if has_pod_level_resources(pod):
        return ""
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    missing = []
    for name in sorted(set(required).intersection(_STATED_BY_EVERY_CONTAINER)):
        silent = sorted({container["name"] for container in containers if not _states(container, name)})
        if silent:
            missing.append(f"{name} for: {','.join(silent)}")
    return f"must specify {'; '.join(missing)}" if missing else ""


def _states(container: Mapping[str, Any], name: str) -> bool:
    prefix, _, resource = name.rpartition(".")
    stated = (container.get("resources") or {}).get("limits" if prefix == "limits" else "requests") or {}
    return resource in stated


# -- objects that are only counted -----------------------------------------------------------------------------------


def _object_count(resource: str) -> Evaluator:
    names = (f"count/{resource}", resource) if resource in _ALIASES else (f"count/{resource}",)
    cost = dict.fromkeys(names, _ONE)
    return Evaluator(
        lambda hard: sorted(set(names).intersection(hard)), lambda obj, now: dict(cost), lambda scope, obj: False
    )


# -- pods ------------------------------------------------------------------------------------------------------------


def is_charged(pod: ReadOnlyObject, now: datetime) -> bool:
    """Whether a pod counts for more than its being there: not once it is finished, or overdue to be gone."""
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return False
    about = metadata(pod)
    if not about.get("deletionTimestamp") or about.get("deletionGracePeriodSeconds") is None:
        return True
    end = parse_time(about["deletionTimestamp"]) + timedelta(seconds=about["deletionGracePeriodSeconds"])
    return now <= end


def is_terminating(pod: ReadOnlyObject) -> bool:
    """Scope Terminating: the pod has a deadline."""
    deadline = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _pod_names(hard: Iterable[str]) -> list[str]:
    return sorted(name for name in set(hard) if name in _POD_RESOURCES or _is_pod_prefixed(name))


def _is_pod_prefixed(name: str) -> bool:
    if name.startswith(("hugepages-", "requests.hugepages-", f"requests.{_IMPLICIT_DEVICES}")):
        return True
    return name.startswith("requests.") and is_extended(name)


def is_extended(name: str) -> bool:
    """Whether a resource is neither Kubernetes' own nor in its domain."""
    return "/" in name and "kubernetes.io/" not in name


def _pod_usage(pod: ReadOnlyObject, now: datetime) -> Quantities:
    usage: Quantities = {"count/pods": _ONE}
    if not is_charged(pod, now):
        return usage
    usage["pods"] = _ONE
    for name, quantity in pod_requests(pod, with_status=True).items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            usage[name] = quantity
            usage[f"requests.{name}"] = quantity
        elif is_extended(name) or name.startswith(_IMPLICIT_DEVICES):
            usage[f"requests.{name}"] = quantity
    for name, quantity in pod_limits(pod, with_status=True).items():
        if name in _COMPUTE:
            usage[f"limits.{name}"] = quantity
    return usage


def _pod_in_scope(scope: Scope, pod: ReadOnlyObject) -> bool:
    match scope["scopeName"]:
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return is_best_effort(pod)
        case "NotBestEffort":
            return not is_best_effort(pod)
        case "PriorityClass":
            return _names_match(scope, [(pod.get("spec") or {}).get("priorityClassName", "")])
        case "CrossNamespacePodAffinity":
            return _has_cross_namespace_affinity(pod)
        case _:
            return False


def is_best_effort(pod: ReadOnlyObject) -> bool:
    """Whether nothing of CPU or memory is requested or limited (QoS class BestEffort)."""
    spec = pod.get("spec") or {}
    of_all = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return not any(
        name in ("cpu", "memory") and not parse(str(text)).is_zero
        for one in of_all
        for field in ("requests", "limits")
        for name, text in ((one.get("resources") or {}).get(field) or {}).items()
    )


def _has_cross_namespace_affinity(pod: ReadOnlyObject) -> bool:
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        weighted = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [term.get("podAffinityTerm") or {} for term in weighted]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


def _names_match(scope: Scope, names: Sequence[str]) -> bool:
    """A scope's operator on the name of a class, "" where the object has none."""
    present = [name for name in names if name]
    values = scope.get("values") or ()
    match scope["operator"]:
        case "Exists":
            return bool(present)
        case "DoesNotExist":
            return not present
        case "In":
            return any(name in values for name in present)
        case _:  # NotIn
            return not present or any(name not in values for name in present)


# -- services, claims, devices ---------------------------------------------------------------------------------------


def _service_usage(service: ReadOnlyObject, now: datetime) -> Quantities:
    spec = service.get("spec") or {}
    ports = spec.get("ports") or ()
    kind = spec.get("type")
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(bool(port.get("nodePort")) for port in ports)
    else:
        node_ports = len(ports) if balanced or kind == "NodePort" else 0
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.loadbalancers": of_value(int(balanced)),
        "services.nodeports": of_value(node_ports),
    }


def _claim_names(hard: Iterable[str]) -> list[str]:
    by_class = tuple(_STORAGE_CLASS + name for name in _CLAIM_RESOURCES)
    fixed = (f"count/{CLAIMS}", *_CLAIM_RESOURCES)
    return sorted(name for name in set(hard) if name in fixed or name.endswith(by_class))


def _claim_usage(claim: ReadOnlyObject, now: datetime) -> Quantities:
    usage: Quantities = {"persistentvolumeclaims": _ONE, f"count/{CLAIMS}": _ONE}
    storage = _claimed_storage(claim)
    if storage is not None:
        usage["requests.storage"] = storage
    storage_class = annotations_of(claim).get(_CLASS_ANNOTATION)
    if storage_class is None:
        storage_class = (claim.get("spec") or {}).get("storageClassName")
    if storage_class:
        usage |= {f"{storage_class}{_STORAGE_CLASS}{name}": usage[name] for name in _CLAIM_RESOURCES if name in usage}
    return usage


def _claimed_storage(claim: ReadOnlyObject) -> Quantity | None:
    """Whole bytes of what is asked for, or of what is being expanded to where that is more."""
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        return None
    asked = parse(str(requests["storage"])).round_up(0)
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if allocated is None:
        return asked
    expanded = parse(str(allocated)).round_up(0)
    return expanded if asked < expanded else asked


def _claim_in_scope(scope: Scope, claim: ReadOnlyObject) -> bool:
    if scope["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = {
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return _names_match(scope, sorted(name for name in names if name))


def _device_claim_names(hard: Iterable[str]) -> list[str]:
    return sorted(name for name in set(hard) if name == f"count/{RESOURCE_CLAIMS}" or name.endswith(_DEVICE_CLASS))


def _device_claim_usage(claim: ReadOnlyObject, now: datetime) -> Quantities:
    """Devices by class; of alternatives the largest number counts."""
    usage: Quantities = {f"count/{RESOURCE_CLAIMS}": _ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        worst: dict[str, int] = {}
        for one in request.get("firstAvailable") or [request.get("exactly") or {}]:
            if one.get("deviceClassName"):
                name = one["deviceClassName"] + _DEVICE_CLASS
                worst[name] = max(worst.get(name, 0), _device_count(one))
        usage = add(usage, {name: of_value(count) for name, count in worst.items()})
    return usage


def _device_count(request: Mapping[str, Any]) -> int:
    return _MOST_DEVICES if request.get("allocationMode") == "All" else request.get("count", 1)


_EVALUATORS: Mapping[str, Evaluator] = {
    PODS: Evaluator(_pod_names, _pod_usage, _pod_in_scope),
    SERVICES: Evaluator(
        lambda hard: sorted(_SERVICE_RESOURCES.intersection(hard)), _service_usage, lambda scope, obj: False
    ),
    CLAIMS: Evaluator(_claim_names, _claim_usage, _claim_in_scope),
    RESOURCE_CLAIMS: Evaluator(_device_claim_names, _device_claim_usage, lambda scope, obj: False),
}
