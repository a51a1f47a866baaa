"""What `kubectl get` shows of the core kinds without a family of their own: nodes, namespaces, config, quotas."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, container_columns, count, field, labels, text
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node_status(node: ReadOnlyObject, now: datetime) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one.get("status") == "True" for one in reversed(conditions) if one["type"] == "Ready"), None)
    word = {None: "Unknown", True: "Ready", False: "NotReady"}[ready]
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _roles(node: ReadOnlyObject, now: datetime) -> str:
    node_labels = labels_of(node)
    roles = {label.removeprefix(_ROLE_PREFIX) for label in node_labels if label.startswith(_ROLE_PREFIX)}
    roles.add(node_labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(roles - {""})) or NONE


def _address(node: ReadOnlyObject, kind: str) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((address["address"] for address in addresses if address["type"] == kind), NONE)


def _kernel(node: ReadOnlyObject, now: datetime) -> str:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or "<unknown>"
    return f"{kernel} ({info['architecture']})" if info.get("architecture") else kernel


def _data(config_map: ReadOnlyObject, now: datetime) -> int:
    return len(config_map.get("data") or ()) + len(config_map.get("binaryData") or ())


def _used(quota: ReadOnlyObject, of_limits: bool) -> str:
    """`pods: 1/10, requests.cpu: 0/2`: what is used of what is allowed, for requests and counts or for limits."""
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    return ", ".join(
        f"{name}: {used.get(name, 0)}/{hard[name]}" for name in sorted(hard) if name.startswith("limits.") is of_limits
    )


def _component_health(component: ReadOnlyObject, now: datetime) -> str:
    status = _healthy(component).get("status")
    if status is None:
        return "Unknown"
    return "Healthy" if status == "True" else "Unhealthy"


def _healthy(component: ReadOnlyObject) -> ReadOnlyObject:
    return next((one for one in component.get("conditions") or () if one["type"] == "Healthy"), {})


NODE_COLUMNS = (
    NAME,
    Column("Status", "string", _node_status),
    Column("Roles", "string", _roles),
    AGE,
    Column("Version", "string", field("status", "nodeInfo", "kubeletVersion")),
    Column("Internal-IP", "string", lambda node, now: _address(node, "InternalIP"), priority=1),
    Column("External-IP", "string", lambda node, now: _address(node, "ExternalIP"), priority=1),
    Column("OS-Image", "string", text("status", "nodeInfo", "osImage", default="<unknown>"), priority=1),
    Column("Kernel-Version", "string", _kernel, priority=1),
    Column(
        "Container-Runtime",
        "string",
        text("status", "nodeInfo", "containerRuntimeVersion", default="<unknown>"),
        priority=1,
    ),
)

NAMESPACE_COLUMNS = (
    NAME,
    Column("Status", "string", field("status", "phase")),
    AGE,
)

CONFIG_MAP_COLUMNS = (
    NAME,
    Column("Data", "string", _data),
    AGE,
)

SECRET_COLUMNS = (
    NAME,
    Column("Type", "string", field("type")),
    Column("Data", "string", count("data")),
    AGE,
)

SERVICE_ACCOUNT_COLUMNS = (NAME, AGE)

RESOURCE_QUOTA_COLUMNS = (
    NAME,
    Column("Request", "string", lambda quota, now: _used(quota, of_limits=False)),
    Column("Limit", "string", lambda quota, now: _used(quota, of_limits=True)),
    AGE,
)

REPLICATION_CONTROLLER_COLUMNS = (
    NAME,
    Column("Desired", "integer", field("spec", "replicas", default=0)),
    Column("Current", "integer", field("status", "replicas", default=0)),
    Column("Ready", "integer", field("status", "readyReplicas", default=0)),
    AGE,
    *container_columns("spec", "template", "spec", "containers"),
    Column("Selector", "string", labels("spec", "selector"), priority=1),
)

COMPONENT_STATUS_COLUMNS = (
    NAME,
    Column("Status", "string", _component_health),
    Column("Message", "string", lambda component, now: _healthy(component).get("message", "")),
    Column("Error", "string", lambda component, now: _healthy(component).get("error", "")),
)
