"""The loop behind CustomResourceDefinitions: names are accepted, kinds served, and instances deleted with them.

It runs inside the API server and is driven by the watch cache, yet acts on what is, not on what happened: each turn
looks at a definition as it stands now. Kinds are in the catalog before the definition says Established, so that
whoever waits for that finds them. A deleted definition is held by a finalizer until its objects are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import structlog

from apiserver.auth.authentication import MASTERS, User
from apiserver.registry.catalog import Kind
from apiserver.registry.context import SERVER, Context
from apiserver.registry.custom import names
from apiserver.registry.custom.kinds import DefinedKinds, in_discovery_order, kinds_of, storage_of
from apiserver.registry.custom.versioning import Converter
from apiserver.registry.options import DeleteOptions
from apiserver.registry.registry import Registry
from apiserver.registry.strategy import ServerRules
from apiserver.schema.codec import Codec
from apiserver.storage.interface import Compacted, Key, StorageUnavailable
from apiserver.watch.broadcast import TooSlow
from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

log = structlog.get_logger("apiserver")

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_SYSTEM = User("system:apiserver", groups=(MASTERS,))
_RETRY_SECONDS = 1.0


class _Source(NamedTuple):
    """What a definition's kinds depend on."""

    uid: str
    generation: int | None
    accepted_names: ReadOnlyObject


class CustomResources:
    """Serves what the definitions define. `start` before the first request, then `run` for as long as the server."""

    def __init__(
        self, registry: Registry, metadata: Codec, converter_of: Callable[[ReadOnlyObject], Converter]
    ) -> None:
        """`converter_of` makes what asks a definition's conversion webhook."""
        self._registry, self._metadata, self._converter_of = registry, metadata, converter_of
        self._machinery = registry.machinery
        self._served: dict[
            str, tuple[_Source, DefinedKinds]
        ] = {}  # definition -> (what they were made from, its kinds)
        self._terminating: set[str] = set()  # definitions whose objects are on their way out
        self._settled: dict[str, list[str]] = {}  # group -> the versions of its definitions that were looked at
        # uid of a definition, for as long as it is there -> the deletion of its objects
        self._emptying: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Serve what was established when the server last ran."""
        self._serve(self._definitions())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    await self._follow(tasks)
                except (TooSlow, Compacted):
                    pass  # begins anew, with all of them
                except StorageUnavailable as error:
                    log.warning("definitions are not kept up", error=str(error))
                # A server that stops ends every new watch at once: without a pause nothing else would get a turn.
                await self._machinery.clock.sleep(_RETRY_SECONDS)

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        with self._machinery.cache.watch(DEFINITIONS) as watcher:
            while True:
                if await self._reconcile(tasks):
                    await watcher.next_batch()
                else:
                    await self._machinery.clock.sleep(_RETRY_SECONDS)

    async def _reconcile(self, tasks: asyncio.TaskGroup) -> bool:
        """Look at the definitions of every group that changed: names are given out group by group.

        False where some have to be looked at again though nothing changes: a webhook refused to let their status be.
        """
        definitions = self._definitions()
        self._serve(definitions)
        by_group: dict[str, list[ReadOnlyObject]] = {}
        for definition in definitions:
            by_group.setdefault(definition["spec"]["group"], []).append(definition)
        for name, group in by_group.items():
            versions = [definition["metadata"]["resourceVersion"] for definition in group]
            if self._settled.get(name) != versions:
                is_done = True
                for definition in group:
                    if "deletionTimestamp" in definition["metadata"]:
                        self._empty(definition, tasks)
                    else:
                        is_done &= await self._accept(definition, group)
                self._settled[name] = versions if is_done else []
        self._settled = {name: versions for name, versions in self._settled.items() if name in by_group}
        uids = {definition["metadata"]["uid"] for definition in definitions}
        self._emptying = {uid: task for uid, task in self._emptying.items() if uid in uids or not task.done()}
        return [] not in self._settled.values()

    def _definitions(self) -> list[ReadOnlyObject]:
        return list(self._machinery.reader.list(DEFINITIONS))

    # -- names and serving ----------------------------------------------------------------------------------------

    async def _accept(self, definition: ReadOnlyObject, group: Iterable[ReadOnlyObject]) -> bool:
        """Bring conditions and accepted names in line; a write brings this loop back here. False where it failed."""
        name = definition["metadata"]["name"]
        others = [other for other in group if other["metadata"]["name"] != name]
        now = format_time(self._machinery.clock.now())
        status = names.status_with_names(definition, others, now)
        if status != definition.get("status"):
            return await self._write_status(name, lambda current: names.status_with_names(current, others, now))
        if names.is_condition(definition, names.NAMES_ACCEPTED) and not names.is_condition(
            definition, names.ESTABLISHED
        ):
            return await self._write_status(name, lambda current: names.established(current, now))
        return True

    def _serve(self, definitions: Sequence[ReadOnlyObject]) -> None:
        """Bring the catalog in line with the definitions; watches of kinds that changed or went end."""
        served: dict[str, tuple[_Source, DefinedKinds]] = {}
        self._terminating = {d["metadata"]["name"] for d in definitions if names.is_condition(d, names.TERMINATING)}
        for definition in definitions:
            if names.is_condition(definition, names.NAMES_ACCEPTED) or names.is_condition(
                definition, names.ESTABLISHED
            ):
                name = definition["metadata"]["name"]
                source, known = _source(definition), self._served.get(name)
                same = known if known is not None and known[0] == source else None
                served[name] = same or (source, self._kinds_of(definition))
        changed = [name for name in self._served.keys() | served.keys() if self._served.get(name) != served.get(name)]
        if not changed:
            return
        before, self._served = self._served, served
        kinds = (kind for _, made in served.values() for kind in made.served)
        self._registry.catalog.replace_custom(in_discovery_order(kinds))
        self._registry.forget_gone()
        for name in changed:
            if name in before:
                self._machinery.cache.broadcast.end(before[name][1].stored.storage)

    def _kinds_of(self, definition: ReadOnlyObject) -> DefinedKinds:
        name, uid = definition["metadata"]["name"], definition["metadata"]["uid"]
        return kinds_of(definition, self._metadata, lambda: self._is_closed(name, uid), self._converter_of)

    def _is_closed(self, name: str, uid: str) -> bool:
        """Whether no object of a definition may be made: it is being deleted, or gone, and be there one of its name."""
        source, _ = self._served.get(name, (None, None))
        return source is None or source.uid != uid or name in self._terminating or uid in self._emptying

    # -- deletion -------------------------------------------------------------------------------------------------

    def _empty(self, definition: ReadOnlyObject, tasks: asyncio.TaskGroup) -> None:
        name, uid = definition["metadata"]["name"], definition["metadata"]["uid"]
        running = self._emptying.get(uid)
        if CLEANUP in (definition["metadata"].get("finalizers") or ()) and (running is None or running.done()):
            self._emptying[uid] = tasks.create_task(self._delete_instances(name, storage_of(definition)))

    async def _delete_instances(self, name: str, storage: str) -> None:
        """Go on until the definition is gone: it waits for its objects, and they for their finalizers."""
        while not await self._is_gone(name, storage):
            await self._machinery.clock.sleep(_RETRY_SECONDS)

    async def _is_gone(self, name: str, storage: str) -> bool:
        """Delete a definition's objects and then the definition; False where something was in the way."""
        try:
            await self._say_terminating(
                name, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            )
            await self._empty_storage(name, storage)
            await self._say_terminating(name, "False", "InstanceDeletionCompleted", "removed all instances", done=True)
            await self._registry.deleter(self._kind()).delete(_context(name), DeleteOptions())
        except NotFound:
            return True
        except (ApiError, StorageUnavailable) as error:
            log.warning("definition is not removed", definition=name, error=str(error))
            return False
        except (TooSlow, Compacted):
            return False  # looks again at what is left
        return True

    async def _empty_storage(self, name: str, storage: str) -> None:
        """Return when the last object is gone. What could not be deleted is tried again."""
        with self._machinery.cache.watch(storage) as watcher:
            await self._machinery.cache.fresh()  # what was on its way to storage when new objects began to be refused
            while left := self._machinery.cache.list(storage):
                for stored in left:
                    await self._delete(name, stored.key)
                await self._machinery.cache.fresh()
                if self._machinery.cache.list(storage):
                    await watcher.next_batch()

    async def _delete(self, definition: str, key: Key) -> None:
        """In the version it is stored in, so that no webhook need be asked for most."""
        if definition not in self._served:
            return
        stored = self._served[definition][1].stored
        try:
            context = Context(_SYSTEM, key.namespace, key.name)
            await self._registry.deleter(stored).delete(context, DeleteOptions())
        except NotFound:
            return  # somebody else was faster

    async def _say_terminating(self, name: str, status: str, reason: str, message: str, *, done: bool = False) -> None:
        now = format_time(self._machinery.clock.now())
        condition = {"type": names.TERMINATING, "status": status, "reason": reason, "message": message}

        def change(definition: Object) -> Object:
            listed = conditions.set_condition(conditions.conditions_of(definition), condition, now)
            changed = {**definition, "status": {**definition["status"], "conditions": listed}}
            if done:
                metadata = dict(definition["metadata"])
                metadata["finalizers"] = [f for f in metadata.get("finalizers") or () if f != CLEANUP]
                changed["metadata"] = metadata
            return changed

        await self._write(name, change)

    # -- writing --------------------------------------------------------------------------------------------------

    async def _write_status(self, name: str, status_of: Callable[[Object], Object]) -> bool:
        try:
            await self._write(name, lambda current: {**current, "status": status_of(current)})
        except NotFound:
            pass  # deleted meanwhile; the loop sees that next
        except ApiError as error:  # an admission policy may refuse even this
            log.warning("status of a definition is not written", definition=name, error=str(error))
            return False
        return True

    async def _write(self, name: str, change: Callable[[Object], Object]) -> None:
        await self._registry.store(self._kind()).patch(change, _context(name), ServerRules())

    def _kind(self) -> Kind:
        kind = self._registry.catalog.get("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert kind is not None, "definitions are in the catalog"
        return kind


def _context(name: str) -> Context:
    return Context(_SYSTEM, name=name, subresource="status", field_manager=SERVER)


def _source(definition: ReadOnlyObject) -> _Source:
    metadata = definition["metadata"]
    return _Source(metadata["uid"], metadata.get("generation"), definition["status"]["acceptedNames"])
