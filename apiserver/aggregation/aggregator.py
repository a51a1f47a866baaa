"""Keeps up with the APIServices: who answers for what, a keeper for each that another server answers for, conditions.

Runs inside the API server and is driven by the watch cache, yet acts on what is: each turn looks at all of them.
"""

from __future__ import annotations

import asyncio

import structlog

from apiserver.aggregation.aggregated import Aggregated
from apiserver.aggregation.availability import Verdict
from apiserver.aggregation.calls import Calls
from apiserver.aggregation.keeper import Keeper
from apiserver.aggregation.metrics import AvailabilityMetrics
from apiserver.aggregation.priorities import ITSELF as GROUP
from apiserver.aggregation.remote import API_SERVICES, AVAILABLE, KIND, Remote, is_available, remotes_of
from apiserver.outgoing.outgoing import Outgoing
from apiserver.registry.context import SERVER, Context
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import SYSTEM
from apiserver.registry.strategy import ServerRules
from apiserver.storage.interface import Compacted, StorageUnavailable
from apiserver.watch.broadcast import TooSlow
from kubeloop.apimachinery.conditions import conditions_of, get_condition, set_condition
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

log = structlog.get_logger("apiserver")

_RETRY_SECONDS = 1.0


class Aggregator:
    """`start` before the first request, then `run` for as long as the server."""

    def __init__(self, registry: Registry, outgoing: Outgoing, certificate: tuple[str, str] | None = None) -> None:
        """`certificate`: files of the client certificate, and its key, that this server shows to aggregated ones."""
        self.aggregated = Aggregated()
        self.calls = Calls(outgoing)
        self.metrics = AvailabilityMetrics(registry.machinery.reader)
        self._registry, self._machinery, self._certificate = registry, registry.machinery, certificate
        self._keepers: dict[Remote, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Answer as when the server last ran."""
        self._serve()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    with self._machinery.cache.watch(API_SERVICES) as watcher:
                        while True:
                            self._serve()
                            self._keep(tasks)
                            await watcher.next_batch()
                except (TooSlow, Compacted):
                    pass  # begins anew, with all of them
                # A server that stops ends every new watch at once: without a pause nothing else would get a turn.
                await self._machinery.clock.sleep(_RETRY_SECONDS)

    def _serve(self) -> None:
        listed = list(self._machinery.reader.list(API_SERVICES))
        available = frozenset(one["metadata"]["name"] for one in listed if is_available(one))
        self.aggregated.replace(remotes_of(listed, self._certificate), available)

    def _keep(self, tasks: asyncio.TaskGroup) -> None:
        """A keeper for each: of one that was changed, another."""
        remotes = self.aggregated.all()
        for remote in [known for known in self._keepers if known not in remotes]:
            self._keepers.pop(remote).cancel()
        for remote in remotes:
            if remote not in self._keepers:
                keeper = Keeper(remote, self.aggregated, self.calls, self._machinery, self._report)
                self._keepers[remote] = tasks.create_task(keeper.run(), name=f"apiservice {remote.name}")

    async def _report(self, name: str, verdict: Verdict) -> None:
        """Write the condition, if it says anything new. What cannot be written is written at the next look."""
        api_service = self._machinery.reader.get(API_SERVICES, "", name)
        if api_service is None or _says(api_service, verdict):
            return
        log.info("availability of an APIService changes", name=name, status=verdict.status, message=verdict.message)
        if is_available(api_service) or not conditions_of(api_service):
            self.metrics.became(name, verdict)
        now = format_time(self._machinery.clock.now())

        def change(current: Object) -> Object:
            conditions = set_condition(conditions_of(current), verdict.condition, now)
            return {**current, "status": {**(current.get("status") or {}), "conditions": conditions}}

        kind = self._registry.catalog.by_kind(GROUP, KIND)
        assert kind is not None, "APIServices are in the catalog"
        context = Context(SYSTEM, name=name, subresource="status", field_manager=SERVER)
        try:
            await self._registry.store(kind).patch(change, context, ServerRules())
        except NotFound:
            pass  # deleted meanwhile
        except (ApiError, StorageUnavailable) as error:
            log.warning("status of an APIService is not written", name=name, error=str(error))


def _says(api_service: ReadOnlyObject, verdict: Verdict) -> bool:
    known = get_condition(conditions_of(api_service), AVAILABLE) or {}
    return (known.get("status"), known.get("reason"), known.get("message")) == verdict
