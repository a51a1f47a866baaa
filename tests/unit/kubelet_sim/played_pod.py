"""A pod that is played on a fake clock: each look plans, notes what is told, and writes the status into the object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kubelet_sim import lifecycle, pod_spec, recovery
from kubelet_sim.state import PodRuntime
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

START = datetime(2026, 1, 1, tzinfo=UTC)
PULL_SECONDS = 0.1
INIT_SECONDS = 3.0


def a_container(name: str = "c", **fields: Any) -> Object:
    return {"name": name, "image": "web:1", **fields}


def a_pod(*containers: Object, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "uid-1",
            "generation": 1,
            "annotations": annotations or {},
        },
        "spec": {"containers": list(containers) or [a_container()], "nodeName": "node-0", **spec},
        "status": {"phase": "Pending"},
    }


class PlayedPod:
    def __init__(self, obj: Object) -> None:
        self.obj, self.told = obj, list[str]()
        self.now = START
        self.is_removable = False
        self.restart_process()

    def restart_process(self) -> None:
        """Forget everything but the object."""
        pod = pod_spec.read(self.obj, INIT_SECONDS)
        self.runtime: PodRuntime = recovery.recover(self.obj, pod, "172.18.0.2", PULL_SECONDS, self.now)

    def join_debuggers(self) -> None:
        """The ephemeral containers that the spec has by now."""
        self.runtime = self.runtime.with_debuggers(pod_spec.read(self.obj, INIT_SECONDS))

    def until(self, seconds: float) -> Object:
        """Play until so long after the start, waking up when the plan says; the status then."""
        end = START + timedelta(seconds=seconds)
        wake_at = self.look()
        while wake_at is not None and wake_at <= end:
            self.now = wake_at
            wake_at = self.look()
        self.now = end
        self.look()
        return self.obj["status"]

    def look(self) -> datetime | None:
        plan = lifecycle.plan(self.obj, pod_spec.read(self.obj, INIT_SECONDS), self.runtime, self.now)
        self.runtime, self.is_removable = plan.runtime, plan.is_removable
        self.told += [f"{one.reason}: {one.message}" for one in plan.happenings]
        self.obj["status"] = plan.status
        return plan.wake_at

    def delete(self, grace_seconds: int = 30) -> None:
        self.obj["metadata"]["deletionTimestamp"] = format_time(self.now + timedelta(seconds=grace_seconds))
        self.obj["metadata"]["deletionGracePeriodSeconds"] = grace_seconds
        self.obj["metadata"]["generation"] += 1

    def condition(self, type_: str) -> tuple[str, str, str]:
        found = get_condition(conditions_of(self.obj), type_) or {}
        return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def state_of(status: Object, name: str = "c") -> str:
    """`running`, or the reason of waiting or of the end."""
    for field in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(field) or ():
            if one["name"] == name:
                (kind, details), *_ = one["state"].items()
                return details.get("reason") or kind
    raise KeyError(name)
