"""Putting the scheduler into a manager: informers in, scheduling tasks out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.backoff import Backoff
from controllers.scheduler.event_handlers import EVENT_SOURCES, NOT_ENDED
from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.interface import Lister
from controllers.scheduler.listing import Listing
from controllers.scheduler.metrics_interface import NO_METRICS, SchedulerMetrics
from controllers.scheduler.profile import Profile
from controllers.scheduler.scheduler import Scheduler
from kubeloop.apimachinery.releases import DEFAULT, is_since
from kubeloop.apimachinery.resource import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from kubeloop.runtime.manager import Manager

_DEVICES = (RESOURCE_CLAIMS, RESOURCE_SLICES, DEVICE_CLASSES)
_DEVICES_SINCE = "1.34"


def add_to(
    manager: Manager,
    profiles: Sequence[Profile] = (Profile(),),
    host: str = "",
    backoff: Backoff | None = None,
    kubernetes_version: str = DEFAULT,
    extenders: Extenders = NO_EXTENDERS,
) -> Scheduler:
    """Before the manager runs. `host` is what events name as the instance that reports.

    `kubernetes_version` is that of the API server: what it does not serve yet is not waited for.
    """
    absent = () if is_since(kubernetes_version, _DEVICES_SINCE) else _DEVICES

    pods = manager.informer(PODS, field_selector=NOT_ENDED)

    def lister(resource: Resource) -> Lister:
        """Of pods the very informer that fills the queue: a plugin must know of a pod that it is asked about."""
        if resource == PODS:
            return pods
        return Listing() if resource in absent else manager.informer(resource)

    scheduler = Scheduler(
        manager.api,
        manager.clock,
        manager.rng,
        profiles,
        lister=lister,
        pods=pods,
        announcer=Announcer(manager.api, manager.clock, host),
        metrics=_metrics(manager),
        backoff=backoff,
        extenders=extenders,
    )
    manager.informer(NODES).add_handler(scheduler.handlers.on_node)
    pods.add_handler(scheduler.handlers.on_pod)
    for resource in sorted(scheduler.registered_resources):
        source = EVENT_SOURCES.get(resource)
        if source is not None and source not in absent:
            manager.informer(source).add_handler(partial(scheduler.handlers.on_other, resource))
    manager.add_task("scheduler", scheduler.run)
    return scheduler


def _metrics(manager: Manager) -> SchedulerMetrics:
    if manager.options.metrics is None:
        return NO_METRICS
    from controllers.scheduler.metrics import PrometheusSchedulerMetrics  # slow to import, for those who are scraped

    return PrometheusSchedulerMetrics(manager.options.metrics.registry)
