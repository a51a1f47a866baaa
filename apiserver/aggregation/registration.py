"""APIServices for what this server answers itself: one for each group version, so that all of them can be listed.

Those of built-in kinds are made when the server starts, and stay as somebody changed them until the next start. Those
of custom resources come and go with their definitions. Which are whose is told by a label; one without it belongs to
somebody else and is left alone. Facts: kube-aggregator's autoregister and crdregistration (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable, Mapping
from typing import Any

import structlog

from apiserver.aggregation.priorities import BUILT_IN, CUSTOM, Priority
from apiserver.aggregation.priorities import ITSELF as GROUP
from apiserver.aggregation.remote import API_SERVICES, KIND
from apiserver.registry.catalog import Catalog, Kind
from apiserver.registry.context import SERVER, Context
from apiserver.registry.custom.definitions import DEFINITIONS
from apiserver.registry.options import DeleteOptions
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import SYSTEM
from apiserver.storage.interface import Compacted, StorageUnavailable
from apiserver.watch.broadcast import TooSlow
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of, name_of, uid_of

log = structlog.get_logger("apiserver")

MANAGED = "kube-aggregator.kubernetes.io/automanaged"
ON_START, ALWAYS = "onstart", "true"
_RETRY_SECONDS = 1.0

Wanted = Mapping[str, Object]  # by name


class Registration:
    def __init__(self, registry: Registry) -> None:
        self._registry, self._machinery = registry, registry.machinery

    async def start(self) -> None:
        """Those of built-in kinds, before the server answers."""
        await self._reconcile(_of_built_in(self._registry.catalog), ON_START)

    async def run(self) -> None:
        """Those of custom resources, for as long as the server."""
        async with asyncio.TaskGroup() as tasks:
            for resource in (DEFINITIONS, API_SERVICES):
                tasks.create_task(self._follow(resource))

    async def _follow(self, resource: str) -> None:
        """Look at everything whenever something of this resource changes."""
        while True:
            try:
                with self._machinery.cache.watch(resource) as watcher:
                    while True:
                        definitions = self._machinery.reader.list(DEFINITIONS)
                        await self._reconcile(_of_definitions(definitions), ALWAYS)
                        await watcher.next_batch()
            except (TooSlow, Compacted):
                pass  # begins anew
            except (ApiError, StorageUnavailable) as error:  # an admission policy may refuse even this
                log.warning("APIServices are not kept up", error=str(error))
            await self._machinery.clock.sleep(_RETRY_SECONDS)

    async def _reconcile(self, wanted: Wanted, managed: str) -> None:
        """Make, mend and remove those with this label; all at once, so that they share a few commits."""
        there = {name_of(one): one for one in self._machinery.reader.list(API_SERVICES)}
        work: list[Coroutine[Any, Any, None]] = []
        for name, obj in wanted.items():
            current = there.get(name)
            if current is None:
                work.append(self._create(obj))
            elif labels_of(current).get(MANAGED) and current["spec"] != obj["spec"]:
                work.append(self._mend(name, obj["spec"]))
        for name, current in there.items():
            if name not in wanted and labels_of(current).get(MANAGED) == managed:
                work.append(self._remove(current))
        await asyncio.gather(*work)

    async def _create(self, obj: Object) -> None:
        await _unless_overtaken(self._machinery.cluster.create(GROUP, KIND, obj))

    async def _mend(self, name: str, spec: Object) -> None:
        def change(current: Object) -> Object:
            return {**current, "spec": spec}

        await _unless_overtaken(self._registry.store(self._kind()).patch(change, _context(name)))

    async def _remove(self, current: ReadOnlyObject) -> None:
        options = DeleteOptions(uid=uid_of(current))
        await _unless_overtaken(self._registry.deleter(self._kind()).delete(_context(name_of(current)), options))

    def _kind(self) -> Kind:
        kind = self._registry.catalog.by_kind(GROUP, KIND)
        assert kind is not None, "APIServices are in the catalog"
        return kind


async def _unless_overtaken(write: Awaitable[object]) -> None:
    """Somebody else may have made, changed or removed it meanwhile: that is looked at next."""
    try:
        await write
    except (AlreadyExists, Conflict, NotFound):
        return


def _context(name: str) -> Context:
    return Context(SYSTEM, name=name, field_manager=SERVER)


def _of_built_in(catalog: Catalog) -> Wanted:
    served = {(kind.group, kind.resource.version) for kind in catalog if not kind.is_custom}
    return dict(_api_service(*one, BUILT_IN[one], ON_START) for one in sorted(served & BUILT_IN.keys()))


def _of_definitions(definitions: Iterable[ReadOnlyObject]) -> Wanted:
    """One for each version that a definition serves; those of built-in groups are there already."""
    served = {
        (definition["spec"]["group"], version["name"])
        for definition in definitions
        for version in definition["spec"]["versions"]
        if version["served"]
    }
    return dict(_api_service(*one, CUSTOM, ALWAYS) for one in sorted(served - BUILT_IN.keys()))


def _api_service(group: str, version: str, priority: Priority, managed: str) -> tuple[str, Object]:
    name = f"{version}.{group}"
    spec: Object = {
        "version": version,
        "groupPriorityMinimum": priority.group,
        "versionPriority": priority.version,
    }
    if group:
        spec["group"] = group
    return name, {"metadata": {"name": name, "labels": {MANAGED: managed}}, "spec": spec}
