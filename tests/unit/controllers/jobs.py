"""Jobs and their pods: builders for the planners, and a loop that runs pods to their end in a living cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controllers.job.model import TRACKING_FINALIZER, JobView
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For
from tests.unit.controllers.workloads import NOW, a_pod, a_template, seconds_ago

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"


def a_job(**spec: Any) -> Object:
    """`status`; the rest is spec."""
    status = spec.pop("status", {})
    metadata = {"name": "job", "namespace": "default", "uid": "job", "generation": 1, "resourceVersion": "1"}
    if spec.pop("deleted", False):
        metadata["deletionTimestamp"] = seconds_ago(1)
    usual = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
        "template": a_template(restartPolicy="Never"),
    }
    wanted = {field: value for field, value in {**usual, **spec}.items() if value is not None}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": wanted, "status": status}


def an_indexed_job(completions: int, **spec: Any) -> Object:
    return a_job(completionMode="Indexed", completions=completions, **{"parallelism": completions, **spec})


def a_job_pod(name: str, phase: str = "Running", **fields: Any) -> Object:
    """`index`, `failures` (of its index), `tracked`, `code` and `ended` (seconds ago) of its container."""
    annotations = {}
    if (index := fields.pop("index", None)) is not None:
        annotations[INDEX] = str(index)
    if (failures := fields.pop("failures", None)) is not None:
        annotations[FAILURES] = str(failures)
    is_tracked, code, ended = fields.pop("tracked", True), fields.pop("code", None), fields.pop("ended", None)
    if code is not None or ended is not None:
        terminated = {"exitCode": code or 0, "finishedAt": seconds_ago(ended or 0)}
        fields["status"] = {"containerStatuses": [{"name": "c", "state": {"terminated": terminated}}]}
    pod = a_pod(name, phase=phase, annotations=annotations, **fields)
    if is_tracked:
        pod["metadata"]["finalizers"] = [TRACKING_FINALIZER]
    return pod


def a_view(job: Object, *pods: Object, released: frozenset[str] = frozenset()) -> JobView:
    return JobView(job, pods, released, NOW)


# "Succeeded", "Failed", or "" for a pod that runs on.
Outcome = Callable[[ReadOnlyObject], str]


def runs_to_end(outcome: Outcome) -> Callable[[Manager], None]:
    """A loop under which every pod ends at once, as `outcome` says; deleted pods are let go."""

    def add_to(manager: Manager) -> None:
        pods = manager.informer(PODS)
        manager.add(Controller("endings", _Endings(manager, pods, outcome), [For(pods)], workers=10))

    return add_to


class _Endings:
    def __init__(self, manager: Manager, pods: Informer, outcome: Outcome) -> None:
        self._manager, self._pods, self._outcome = manager, pods, outcome

    async def reconcile(self, key: ObjectKey) -> Result:
        pod, api = self._pods.get(key), self._manager.api
        if pod is None:
            return DONE
        try:
            if is_being_deleted(pod):
                await api.delete(PODS, key.name, key.namespace, grace_period_seconds=0, uid=uid_of(pod))
            elif pod["status"]["phase"] == "Pending":
                status = self._end(self._outcome(pod))
                await api.patch(PODS, key.name, {"status": status}, key.namespace, subresource="status")
        except (NotFound, Conflict):
            pass
        return DONE

    def _end(self, phase: str) -> Object:
        if not phase:
            return {"phase": "Running"}
        now = format_time(self._manager.clock.now())
        terminated = {"exitCode": int(phase == "Failed"), "finishedAt": now, "startedAt": now}
        container = {"name": "web", "image": "web:1", "imageID": "", "ready": False, "restartCount": 0}
        return {"phase": phase, "containerStatuses": [{**container, "state": {"terminated": terminated}}]}
