"""What a node says of itself: its object at registration, and its status. Pure.

Facts of pkg/kubelet/kubelet_node_status.go and nodestatus/setters.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubelet_sim.addresses import node_address
from kubelet_sim.settings import Settings
from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.forwarding import SIMULATED_OS
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of
from kubeloop.apimachinery.quantity import canonical
from kubeloop.apimachinery.releases import git_version
from kubeloop.apimachinery.times import format_time

# What these kubelets declare that they can do, in order.
FEATURES = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)

# What containerd 2 says of itself.
_HANDLERS = ("", "runc")
_OF_HANDLERS = {"recursiveReadOnlyMounts": True, "userNamespaces": True}

_ZONES = ("zone-a", "zone-b", "zone-c")
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_PRESSED = {
    "MemoryPressure": (
        "MemoryPressure",
        "True",
        "KubeletHasInsufficientMemory",
        "kubelet has insufficient memory available",
    ),
    "DiskPressure": ("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
}
# What is told when a condition changes.
PRESSURE_REASONS = {
    ("MemoryPressure", "True"): "NodeHasInsufficientMemory",
    ("MemoryPressure", "False"): "NodeHasSufficientMemory",
    ("DiskPressure", "True"): "NodeHasDiskPressure",
    ("DiskPressure", "False"): "NodeHasNoDiskPressure",
}
# Labels that a kubelet sets anew at every start.
_OWN_LABELS = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "topology.kubernetes.io/zone",
)


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    name: str
    index: int
    zone: str
    address: str


def identity(settings: Settings, i: int) -> NodeIdentity:
    """The node number `i`."""
    return NodeIdentity(f"{settings.node_name_prefix}{i}", i, _ZONES[i % len(_ZONES)], node_address(settings, i))


def registration(identity: NodeIdentity, settings: Settings, now: datetime) -> Object:
    """The object that a node creates for itself where there is none."""
    labels = dict.fromkeys(_OWN_LABELS, identity.name)
    labels |= {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
    labels |= {"kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "amd64"}
    labels["topology.kubernetes.io/zone"] = identity.zone
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": identity.name, "labels": labels},
        "spec": {},
        "status": status(identity, settings, (), now),
    }


def missing_labels(node: ReadOnlyObject, identity: NodeIdentity, settings: Settings, now: datetime) -> Object | None:
    """The merge patch that gives an existing node the labels every kubelet sets; others' labels and taints stay."""
    wanted = registration(identity, settings, now)["metadata"]["labels"]
    missing = {key: value for key, value in wanted.items() if labels_of(node).get(key) != value}
    return {"metadata": {"labels": missing}} if missing else None


def status(
    identity: NodeIdentity,
    settings: Settings,
    current: Sequence[conditions.Condition],
    now: datetime,
    pressures: Collection[str] = (),
) -> Object:
    """`current`: the conditions there are; their times are kept while their statuses stay. `pressures`: those that
    are true, of what the node is short of.
    """
    said = (_PRESSED[healthy[0]] if healthy[0] in pressures else healthy for healthy in HEALTHY)
    resources = _resources(settings)
    return {
        "capacity": resources,
        "allocatable": resources,
        "conditions": [_condition(current, *one, now=now) for one in said],
        "addresses": [
            {"type": "InternalIP", "address": identity.address},
            {"type": "Hostname", "address": identity.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": settings.kubelet_port}},
        "nodeInfo": _node_info(identity, settings),
        "declaredFeatures": list(FEATURES),
        "runtimeHandlers": [{"name": name, "features": dict(_OF_HANDLERS)} for name in _HANDLERS],
        "features": {"supplementalGroupsPolicy": True},
    }


def boot_id(identity: NodeIdentity, rebooted_at: datetime | None = None) -> str:
    """Another one with every reboot."""
    boot = int(rebooted_at.timestamp()) if rebooted_at else 0
    return f"{boot:08x}-0000-4000-9000-{identity.index:012x}"


def boot_id_of(node: ReadOnlyObject) -> str:
    """As its status says it; "" where it says none."""
    return ((node.get("status") or {}).get("nodeInfo") or {}).get("bootID") or ""


def is_changed(node: ReadOnlyObject, wanted: Mapping[str, Any]) -> bool:
    """Whether the status differs in more than its heartbeat times; what others added to it does not count."""
    current = node.get("status") or {}
    if any(not _contains(current.get(field), wanted[field]) for field in wanted if field != "conditions"):
        return True
    known = {condition["type"]: condition for condition in conditions.conditions_of(node)}
    return any(
        known.get(condition["type"], {}).get(field) != condition[field]
        for condition in wanted["conditions"]
        for field in ("status", "reason", "message")
    )


def _contains(current: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(current, Mapping) and all(_contains(current.get(k), v) for k, v in wanted.items())
    return bool(current == wanted)


def _condition(
    current: Sequence[conditions.Condition], type_: str, text: str, reason: str, message: str, *, now: datetime
) -> Object:
    before = conditions.get_condition(current, type_) or {}
    since = before.get("lastTransitionTime") if before.get("status") == text else None
    return {
        "type": type_,
        "status": text,
        "lastHeartbeatTime": format_time(now),
        "lastTransitionTime": since or format_time(now),
        "reason": reason,
        "message": message,
    }


def _resources(settings: Settings) -> Object:
    """Spelled as the server will spell them: a status that always seems changed would be written for ever."""
    amounts = {
        "cpu": settings.node_cpu,
        "ephemeral-storage": settings.node_ephemeral_storage,
        "memory": settings.node_memory,
        "pods": str(settings.node_pods),
    }
    return {name: canonical(text) for name, text in amounts.items()}


def _node_info(identity: NodeIdentity, settings: Settings) -> Object:
    """Ids that look like a machine's and are the same at every start. None is a number: templates write it as it is."""
    number = f"{identity.index:012x}"
    return {
        "machineID": f"f{identity.index:031x}",
        "systemUUID": f"00000000-0000-4000-8000-{number}",
        "bootID": boot_id(identity),
        "kernelVersion": "6.12.0-kubeloop",
        "osImage": SIMULATED_OS,
        "containerRuntimeVersion": "containerd://2.1.0",
        "kubeletVersion": git_version(settings.kubernetes_version),
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
