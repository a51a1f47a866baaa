"""A pod's status as its kubelet writes it: pure, from the pod and what its node remembers of it.

Semantics: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus) and status/generate.go (v1.36). Conditions are in
pod_conditions, the phase in phase, container statuses in container_status.
"""

from __future__ import annotations

from datetime import datetime

from kubelet_sim import allocation, container_status, pod_conditions
from kubelet_sim.phase import TERMINAL, phase_of
from kubelet_sim.state import PodRuntime, PodSpec, Role
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of
from kubeloop.apimachinery.pod_resources import Quantities, is_pod_level, pod_limits, pod_requests
from kubeloop.apimachinery.times import format_time

# The fields of the status that are a kubelet's; qosClass is decided by the API server.
OWN_FIELDS = (
    "observedGeneration",
    "phase",
    "conditions",
    "message",
    "reason",
    "hostIP",
    "hostIPs",
    "podIP",
    "podIPs",
    "startTime",
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
    "resources",
    "allocatedResources",
)


def status_of(obj: ReadOnlyObject, pod: PodSpec, runtime: PodRuntime, now: datetime) -> Object:
    """Only a kubelet's fields, and of the conditions only its own."""
    phase = phase_of(pod, runtime)
    status: Object = {
        "observedGeneration": generation_of(obj),
        "phase": phase,
        "startTime": format_time(runtime.arrived_at),
        **_reason(obj, runtime, phase),
    }
    if runtime.is_rejected:
        return status
    statuses = [
        container_status.status_of(pod, runtime, spec, container, now)
        for spec, container in zip(pod.containers, runtime.containers, strict=True)
    ]
    by_role = list(zip((spec.role for spec in pod.containers), statuses, strict=True))
    status |= {
        "conditions": pod_conditions.conditions_of(obj, pod, runtime, phase, statuses, now),
        "initContainerStatuses": [one for role, one in by_role if role in (Role.INIT, Role.SIDECAR)],
        "ephemeralContainerStatuses": [one for role, one in by_role if role is Role.EPHEMERAL],
        "containerStatuses": sorted((one for role, one in by_role if role is Role.REGULAR), key=lambda s: s["name"]),
        **_addresses(obj, runtime),
        **_resources(obj, runtime),
    }
    return {field: value for field, value in status.items() if value not in ("", [])}


def _reason(obj: ReadOnlyObject, runtime: PodRuntime, phase: str) -> Object:
    """A reason belongs to its phase: the node's verdict, once told, or what stands there while the phase stays."""
    if runtime.verdict and phase in TERMINAL:
        return {"reason": runtime.verdict.reason, "message": runtime.verdict.message}
    current = obj.get("status") or {}
    if current.get("phase") != phase:
        return {}
    return {field: current[field] for field in ("reason", "message") if current.get(field)}


def _addresses(obj: ReadOnlyObject, runtime: PodRuntime) -> Object:
    """A pod on the host network has its address from the beginning, others with their sandbox."""
    addresses: Object = {"hostIP": runtime.host_ip, "hostIPs": [{"ip": runtime.host_ip}]}
    current = (obj.get("status") or {}).get("podIP")
    if current or obj["spec"].get("hostNetwork") or pod_conditions.has_sandbox(runtime):
        ip = current or runtime.ip
        addresses |= {"podIP": ip, "podIPs": [{"ip": ip}] if ip else []}
    return addresses


def _resources(obj: ReadOnlyObject, runtime: PodRuntime) -> Object:
    """What the pod as a whole has, and what it is allocated."""
    requests = _texts(pod_requests(obj))
    allocated = {"allocatedResources": requests} if requests else {}
    has = allocation.with_what_it_has(obj, runtime)
    requests, limits = _texts(pod_requests(has)) if has is not obj else requests, _texts(pod_limits(has))
    effective = {"requests": _of_pod_level(requests), "limits": _of_pod_level(limits)}
    return {"resources": {field: values for field, values in effective.items() if values}, **allocated}


def _texts(quantities: Quantities) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in quantities.items()}


def _of_pod_level(values: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in values.items() if is_pod_level(name)}
