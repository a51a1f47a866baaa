"""What `kubectl get pods` and `kubectl get podtemplates` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from apiserver.printing.cells import AGE, NAME, NONE, container_columns, labels, text
from apiserver.printing.durations import since
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


class Summary(NamedTuple):
    """A pod in one word, and the counts beside it."""

    ready: int
    total: int
    reason: str
    restarts: int
    last_restart: str  # RFC 3339; "" where nothing restarted


class _Initialisation(NamedTuple):
    """What the init containers say, up to the first that is not done. `reason` is "" where all are."""

    reason: str
    ready: int  # sidecars
    restarts: int
    last_restart: str
    sidecar_restarts: int
    last_sidecar_restart: str


_NOTHING_TO_INITIALISE = _Initialisation("", 0, 0, "", 0, "")


def summarise(pod: ReadOnlyObject) -> Summary:
    """The Ready, Status and Restarts of a pod.

    While it initialises, the first unfinished init container speaks for it; afterwards its containers do, the first
    one with something to say winning. A deletion under way overrides both.
    """
    status: Mapping[str, Any] = pod.get("status") or {}
    spec: Mapping[str, Any] = pod.get("spec") or {}
    sidecars = _sidecars(spec)
    total = len(spec.get("containers") or ()) + len(sidecars)
    start = _initialisation(spec, status, sidecars)
    if start.reason and _condition(status, "Initialized") != "True":
        summary = Summary(start.ready, total, start.reason, start.restarts, start.last_restart)
    else:
        summary = _running(status, start, total)
    if not (pod.get("metadata") or {}).get("deletionTimestamp"):
        return summary
    if status.get("reason") == "NodeLost":
        return summary._replace(reason="Unknown")
    return summary if status.get("phase") in _COMPLETED else summary._replace(reason="Terminating")


def _initialisation(spec: Mapping[str, Any], status: Mapping[str, Any], sidecars: frozenset[str]) -> _Initialisation:
    statuses = status.get("initContainerStatuses")
    if not statuses:
        return _NOTHING_TO_INITIALISE
    ready, restarts, last_restart, sidecar_restarts, last_sidecar_restart = 0, 0, "", 0, ""
    for i, container in enumerate(statuses):
        is_sidecar = container["name"] in sidecars
        restarts += container.get("restartCount", 0)
        last_restart = max(last_restart, _finished_at(container))
        if is_sidecar:
            sidecar_restarts += container.get("restartCount", 0)
            last_sidecar_restart = max(last_sidecar_restart, _finished_at(container))
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        reason = _held_up_by(state, i, len(spec.get("initContainers") or ()))
        return _Initialisation(reason, ready, restarts, last_restart, sidecar_restarts, last_sidecar_restart)
    return _Initialisation("", ready, restarts, last_restart, sidecar_restarts, last_sidecar_restart)


def _held_up_by(state: Mapping[str, Any], i: int, total: int) -> str:
    terminated = state.get("terminated")
    if terminated is not None:
        return "Init:" + _ending(terminated)
    waiting = (state.get("waiting") or {}).get("reason")
    return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else f"Init:{i}/{total}"


def _running(status: Mapping[str, Any], start: _Initialisation, total: int) -> Summary:
    """The summary of a pod whose containers may run. Ordinary init containers' restarts no longer count."""
    ready, restarts, last_restart = start.ready, start.sidecar_restarts, start.last_sidecar_restart
    reason = start.reason or _own_reason(status)
    has_running, error_reason = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        restarts += container.get("restartCount", 0)
        if container.get("lastState"):
            last_restart = max(last_restart, _finished_at(container))
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _ending(terminated)
            if terminated.get("exitCode"):
                error_reason = reason
        elif container.get("ready") and state.get("running") is not None:
            has_running = True
            ready += 1
    if reason == "Completed":
        reason = _partly_completed(status, has_running, error_reason)
    return Summary(ready, total, reason, restarts, last_restart)


def _own_reason(status: Mapping[str, Any]) -> str:
    """What the pod says of itself: its phase, a reason of its own, or that a gate holds it back."""
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return status.get("reason") or status.get("phase") or ""


def _partly_completed(status: Mapping[str, Any], has_running: bool, error_reason: str) -> str:
    """The word for a pod whose first container completed: the others may still run or have failed."""
    if has_running and _condition(status, "Ready") == "True":
        return "Running"
    if error_reason:
        return error_reason
    return "NotReady" if has_running else "Completed"


def _ending(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return terminated["reason"]
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _sidecars(spec: Mapping[str, Any]) -> frozenset[str]:
    """The init containers that keep running beside the others."""
    containers = spec.get("initContainers")
    if not containers:
        return frozenset()
    return frozenset(container["name"] for container in containers if container.get("restartPolicy") == "Always")


def _finished_at(container: Mapping[str, Any]) -> str:
    """When the container's last run ended. metav1.Time is always UTC with whole seconds, so text compares as time."""
    return ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""


def _condition(status: Mapping[str, Any], kind: str) -> str:
    return next((c.get("status", "") for c in status.get("conditions") or () if c["type"] == kind), "")


def _ready(pod: ReadOnlyObject, now: datetime) -> str:
    summary = summarise(pod)
    return f"{summary.ready}/{summary.total}"


def _status(pod: ReadOnlyObject, now: datetime) -> str:
    return summarise(pod).reason


def _restarts(pod: ReadOnlyObject, now: datetime) -> str:
    summary = summarise(pod)
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({since(summary.last_restart, now)} ago)"
    return str(summary.restarts)


def _ip(pod: ReadOnlyObject, now: datetime) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or NONE


def _readiness_gates(pod: ReadOnlyObject, now: datetime) -> str:
    gates = (pod.get("spec") or {}).get("readinessGates")
    if not gates:
        return NONE
    status = pod.get("status") or {}
    passed = sum(_condition(status, gate["conditionType"]) == "True" for gate in gates)
    return f"{passed}/{len(gates)}"


def _completed(pod: ReadOnlyObject) -> Sequence[Mapping[str, str]]:
    """The row condition by which kubectl can tell finished pods."""
    phase = (pod.get("status") or {}).get("phase", "")
    message = _COMPLETED.get(phase)
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else ()


POD_COLUMNS = (
    NAME,
    Column("Ready", "string", _ready),
    Column("Status", "string", _status, row_conditions=_completed),
    Column("Restarts", "string", _restarts),
    AGE,
    Column("IP", "string", _ip, priority=1),
    Column("Node", "string", text("spec", "nodeName", default=NONE), priority=1),
    Column("Nominated Node", "string", text("status", "nominatedNodeName", default=NONE), priority=1),
    Column("Readiness Gates", "string", _readiness_gates, priority=1),
)

POD_TEMPLATE_COLUMNS = (
    NAME,
    *(
        Column(column.name, column.type, column.cell)  # always shown, unlike those of the workloads
        for column in container_columns("template", "spec", "containers")
    ),
    Column("Pod Labels", "string", labels("template", "metadata", "labels")),
)
