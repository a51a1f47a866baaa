"""Pods with the tracking finalizer that no Job will count: without it taken off, they could never be deleted.

A pod is an orphan once it has lost its owner reference, or its Job is gone or has ended. syncOrphanPod of
pkg/controller/job, v1.36.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from controllers.job import conditions
from controllers.job.model import is_ours, is_tracked
from controllers.job.pod_requests import remove_finalizer
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_of,
    is_being_deleted,
    key_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import JOBS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, Result


class OrphanReconciler:
    """Keys are those of pods."""

    def __init__(self, api: Api, jobs: Informer, pods: Informer) -> None:
        self._api, self._jobs, self._pods = api, jobs, pods

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None or not is_tracked(pod) or not self._is_orphan(pod):
            return DONE
        with contextlib.suppress(NotFound):
            await remove_finalizer(self._api, pod)
        return DONE

    def keys_for_pod(self, pod: Object) -> Iterable[ObjectKey]:
        """A pod whose Job is not in the cache may be ahead of it: that counts only once the pod is to go."""
        if not is_tracked(pod) or (controller_of(pod) is not None and not is_being_deleted(pod)):
            return []
        return [key_of(pod)]

    def keys_for_job(self, job: Object) -> Iterable[ObjectKey]:
        """The pods that a Job leaves behind when it ends or is deleted."""
        if self._job_of(job) is not None:
            return []
        selector = selectors.from_label_selector(job["spec"].get("selector"))
        return [key_of(pod) for pod in self._pods.list(namespace_of(job), selector) if is_tracked(pod)]

    def _is_orphan(self, pod: ReadOnlyObject) -> bool:
        reference = controller_of(pod)
        if reference is None:
            return True
        if (reference.get("kind"), reference.get("apiVersion")) != (JOBS.kind, JOBS.api_version):
            return False
        named = {"metadata": {**reference, "namespace": namespace_of(pod)}}
        return self._job_of(named) is None

    def _job_of(self, named: ReadOnlyObject) -> Object | None:
        """The Job of that name and uid that still looks after its pods, or that another controller manages."""
        job = self._jobs.get(key_of(named))
        if job is None or uid_of(job) != uid_of(named) or (is_ours(job) and conditions.finished(job)):
            return None
        return job
