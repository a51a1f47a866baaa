"""Putting the scheduler into a manager: informers in, scheduling tasks out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.backoff import Backoff
from controllers.scheduler.event_handlers import EVENT_SOURCES, NOT_ENDED
from controllers.scheduler.metrics_interface import NO_METRICS, SchedulerMetrics
from controllers.scheduler.profile import Profile
from controllers.scheduler.scheduler import Scheduler
from kubeloop.apimachinery.resource import NODES, PODS
from kubeloop.runtime.manager import Manager


def add_to(
    manager: Manager,
    profiles: Sequence[Profile] = (Profile(),),
    host: str = "",
    backoff: Backoff | None = None,
) -> Scheduler:
    """Before the manager runs. `host` is what events name as the instance that reports."""
    pods = manager.informer(PODS, field_selector=NOT_ENDED)
    scheduler = Scheduler(
        manager.api,
        manager.clock,
        manager.rng,
        profiles,
        lister=manager.informer,
        pods=pods,
        announcer=Announcer(manager.api, manager.clock, host),
        metrics=_metrics(manager),
        backoff=backoff,
    )
    manager.informer(NODES).add_handler(scheduler.handlers.on_node)
    pods.add_handler(scheduler.handlers.on_pod)
    for resource in sorted(scheduler.registered_resources):
        if resource in EVENT_SOURCES:
            manager.informer(EVENT_SOURCES[resource]).add_handler(partial(scheduler.handlers.on_other, resource))
    manager.add_task("scheduler", scheduler.run)
    return scheduler


def _metrics(manager: Manager) -> SchedulerMetrics:
    if manager.options.metrics is None:
        return NO_METRICS
    from controllers.scheduler.metrics import PrometheusSchedulerMetrics  # slow to import, for those who are scraped

    return PrometheusSchedulerMetrics(manager.options.metrics.registry)
