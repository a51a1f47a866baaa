"""What wakes the Job loop, and how soon.

A new spec is looked at at once. Pods come and go in bunches, so what happens to them is looked at once a second, as is
the Job's own status: a Job of a thousand pods is not written a thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers import children
from controllers.job.orphans import OrphanReconciler
from controllers.job.pod_requests import PodRequests
from controllers.job.reconciler import JobReconciler
from controllers.job.released import Released
from controllers.job.scaling import BATCH_SECONDS
from controllers.pod_control import PodControl
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import Object, ObjectKey, controller_of, generation_of, key_of, labels_of, namespace_of
from kubeloop.apimachinery.resource import JOBS, PODS
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.expectations import Expectations
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.rate_limiter import ExponentialBackoff
from kubeloop.runtime.source import Watches, owner_keys

# Refusals of pods last: a quota that is used up, a policy. Upstream waits as long.
_FIRST_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 1.0, 60.0

EnqueueAfter = Callable[[ObjectKey, float], None]


def add_to(manager: Manager) -> None:
    jobs, pods = manager.informer(JOBS), children.index(manager.informer(PODS))
    expectations, released = Expectations(manager.clock), Released()
    expectations.follow(pods, JOBS)
    released.follow(pods)
    recorder = manager.event_recorder("job-controller")
    control = PodControl(manager.api, recorder, JOBS)
    requests = PodRequests(manager.api, control, expectations, released)
    reconciler = JobReconciler(manager.api, manager.clock, jobs, pods, expectations, released, requests, recorder)
    controller = Controller("job", reconciler, workers=5, rate_limiter=_backoff())
    manager.add(controller)
    _wake(controller.enqueue_after, jobs, pods)
    orphans = OrphanReconciler(manager.api, jobs, pods)
    sources = [Watches(pods, orphans.keys_for_pod), Watches(jobs, orphans.keys_for_job)]
    manager.add(Controller("job_orphan_pod", orphans, sources, workers=5, rate_limiter=_backoff()))


def _backoff() -> ExponentialBackoff:
    return ExponentialBackoff(_FIRST_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS)


def _wake(enqueue_after: EnqueueAfter, jobs: Informer, pods: Informer) -> None:
    def on_job(delta: Delta) -> None:
        is_same_spec = delta.old and delta.new and generation_of(delta.old) == generation_of(delta.new)
        enqueue_after(key_of(delta.obj), BATCH_SECONDS if is_same_spec else 0)

    def on_pod(delta: Delta) -> None:
        for pod in filter(None, delta):
            for key in _jobs_of(pod, jobs):
                enqueue_after(key, BATCH_SECONDS)

    jobs.add_handler(on_job)
    pods.add_handler(on_pod)


def _jobs_of(pod: Object, jobs: Informer) -> Iterable[ObjectKey]:
    """The Job that owns the pod, or those that might adopt it."""
    if controller_of(pod) is not None:
        return owner_keys(pod, JOBS)
    candidates = jobs.list(namespace_of(pod))
    return [key_of(job) for job in candidates if _selector(job).matches(labels_of(pod))]


def _selector(job: Object) -> selectors.Selector:
    return selectors.from_label_selector(job["spec"].get("selector"))
