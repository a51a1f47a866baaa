"""Counting for one quota: at its creation, when its limits change, when what it counts goes or costs less.

Admission charges new objects before they are stored, so a recount that sees the charge and not yet the object would
give it back. Creations therefore call for a recount too, a little later: it heals that.
"""

from __future__ import annotations

from datetime import datetime

from controllers.resource_quota import plan
from controllers.resource_quota.monitors import Monitors
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of, namespace_of
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, RESOURCE_QUOTAS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.apply import update_status
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For

# A full recount of everything: pods that are overdue to be gone stop counting without any change.
RESYNC_SECONDS = 300.0
# How often to look whether a resource that a quota names is served by now.
_DISCOVERY_SECONDS = 30.0
# Creations come in floods, and are charged already: one recount serves a flood.
_AFTER_CREATION_SECONDS = 1.0
_EVERYTHING_SERVED = ObjectKey("", "served")


def add_to(manager: Manager) -> None:
    quotas = manager.informer(RESOURCE_QUOTAS)
    changes = Changes(quotas, manager.clock)
    monitors = Monitors(manager, changes.on_change)
    controller = changes.controller = Controller(
        "resource_quota_controller",
        QuotaReconciler(manager.api, manager.clock, quotas, monitors),
        [For(quotas, [plan.has_new_limits])],
        workers=5,
        resync_seconds=RESYNC_SECONDS,
    )
    manager.add(controller)
    definitions = manager.informer(CUSTOM_RESOURCE_DEFINITIONS)
    definitions.add_handler(lambda delta: controller.enqueue(_EVERYTHING_SERVED) if delta.new is None else None)


class QuotaReconciler:
    def __init__(self, api: Api, clock: Clock, quotas: Informer, monitors: Monitors) -> None:
        self._api, self._clock, self._quotas, self._monitors = api, clock, quotas, monitors

    async def reconcile(self, key: ObjectKey) -> Result:
        if key == _EVERYTHING_SERVED:
            await self._monitors.forget_what_is_gone()
            return DONE
        quota = self._quotas.get(key)
        if quota is None:
            return DONE
        unserved = await self._monitors.watch(plan.counted(quota))
        await self._recount(key)
        return RequeueAfter(_DISCOVERY_SECONDS) if unserved else DONE

    async def _recount(self, key: ObjectKey) -> None:
        """Nothing is awaited between reading the cache and deciding: what is counted is one moment's state."""
        quota = self._quotas.get(key)
        if quota is None:
            return
        wanted = plan.status(quota, self._objects(quota), self._clock.now())
        if not plan.is_up_to_date(quota, wanted):
            try:
                await update_status(self._api, RESOURCE_QUOTAS, quota, wanted)
            except NotFound:
                return

    def _objects(self, quota: Object) -> dict[str, plan.Objects]:
        names = filter(self._monitors.is_watched, plan.counted(quota))
        return {name: self._monitors.objects(name, namespace_of(quota)) for name in names}


class Changes:
    """Finds the quotas that a change of an object concerns."""

    controller: Controller

    def __init__(self, quotas: Informer, clock: Clock) -> None:
        self._quotas, self._clock = quotas, clock

    def on_change(self, resource: str, delta: Delta) -> None:
        now = self._clock.now()
        for quota in self._quotas.list(namespace_of(delta.obj)):
            if not plan.counts(quota, resource):
                continue
            if delta.old is None:
                self.controller.enqueue_after(key_of(quota), _AFTER_CREATION_SECONDS)
            elif delta.new is None or self._is_counted_otherwise(quota, resource, delta, now):
                self.controller.enqueue(key_of(quota))

    def _is_counted_otherwise(self, quota: Object, resource: str, delta: Delta, now: datetime) -> bool:
        assert delta.old is not None and delta.new is not None
        return plan.is_counted_otherwise(quota, resource, delta.old, delta.new, now)
