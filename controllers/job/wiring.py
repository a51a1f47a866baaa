"""What wakes the Job loop, and how soon.

A new spec is looked at at once. Pods come and go in bunches, so what happens to them is looked at once a second, as is
the Job's own status: a Job of a thousand pods is not written a thousand times.
"""

from __future__ import annotations

from controllers import children, gathering
from controllers.job.orphans import OrphanReconciler
from controllers.job.pod_requests import PodRequests
from controllers.job.reconciler import JobReconciler
from controllers.job.released import Released
from controllers.job.scaling import BATCH_SECONDS
from controllers.pod_control import PodControl
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import JOBS, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.expectations import Expectations
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.rate_limiter import ExponentialBackoff
from kubeloop.runtime.source import Watches

# Refusals of pods last: a quota that is used up, a policy. Upstream waits as long.
_FIRST_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 1.0, 60.0


def add_to(manager: Manager) -> None:
    jobs, pods = manager.informer(JOBS), children.index(manager.informer(PODS))
    expectations, released = Expectations(manager.clock), Released()
    expectations.follow(pods, JOBS)
    released.follow(pods)
    recorder = manager.event_recorder("job-controller")
    control = PodControl(manager.api, recorder, JOBS)
    requests = PodRequests(manager.api, control, expectations, released)
    reconciler = JobReconciler(manager.api, manager.clock, jobs, pods, expectations, released, requests, recorder)
    sources = gathering.sources(
        jobs, pods, lambda pod: children.owners_of(pod, JOBS, jobs, _selector), lambda _: BATCH_SECONDS
    )
    manager.add(Controller("job", reconciler, sources, workers=5, rate_limiter=_backoff()))
    orphans = OrphanReconciler(manager.api, jobs, pods)
    of_orphans = [Watches(pods, orphans.keys_for_pod), Watches(jobs, orphans.keys_for_job)]
    manager.add(Controller("job_orphan_pod", orphans, of_orphans, workers=5, rate_limiter=_backoff()))


def _backoff() -> ExponentialBackoff:
    return ExponentialBackoff(_FIRST_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS)


def _selector(job: Object) -> selectors.Selector:
    return selectors.from_label_selector(job["spec"].get("selector"))
