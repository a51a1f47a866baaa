"""A pod's status as its kubelet writes it: pure, from the pod and what its node remembers of it.

Semantics: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus) and status/generate.go (v1.36). Conditions are in
pod_conditions, the phase in phase, container statuses in container_status.
"""

from __future__ import annotations

from datetime import datetime

from kubelet_sim import allocation, container_status, pod_conditions
from kubelet_sim.asked import asked_for
from kubelet_sim.phase import phase_of
from kubelet_sim.state import STATUS_FIELDS, PodRuntime, PodSpec, Role
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of
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
    statuses: list[Object] = []
    by_field: dict[str, list[Object]] = {field: [] for field in STATUS_FIELDS.values()}
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        one = container_status.status_of(pod, runtime, spec, container, now)
        statuses.append(one)
        by_field[STATUS_FIELDS[spec.role]].append(one)
    by_field[STATUS_FIELDS[Role.REGULAR]].sort(key=lambda one: one["name"])
    status |= by_field
    status["conditions"] = pod_conditions.conditions_of(obj, pod, runtime, phase, statuses, now)
    status |= _addresses(obj, runtime)
    status |= _resources(obj, runtime)
    return {field: value for field, value in status.items() if value not in ("", [])}


def _reason(obj: ReadOnlyObject, runtime: PodRuntime, phase: str) -> Object:
    """A reason belongs to its phase: the node's verdict, once told, or what stands there while the phase stays. A pod
    that succeeds all the same has none.
    """
    if runtime.verdict and phase == "Failed":
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
    requests = asked_for(obj).requests
    allocated = {"allocatedResources": requests} if requests else {}
    return {"resources": asked_for(allocation.with_what_it_has(obj, runtime)).of_pod_level, **allocated}
