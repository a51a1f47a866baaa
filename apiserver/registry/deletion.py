"""Deletion: what a DELETE does to an object, decided purely, and carried out by compare-and-swap.

The order is upstream's (registry/rest/delete.go, registry/generic/registry/store.go, v1.36): preconditions, graceful
deletion (pods), the finalizers a propagation policy asks for, and only when nothing holds the object back, its removal.
Namespaces, which end in two steps of their own, come through `Strategy.begin_deletion`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import partial

from apiserver.admission.chain import DELETE
from apiserver.registry.catalog import Kind
from apiserver.registry.context import Context, Machinery
from apiserver.registry.options import DeleteOptions
from apiserver.registry.stored_forms import StoredForms
from apiserver.storage.interface import RevisionMismatch, Stored, Write
from kubeloop.apimachinery.errors import STALE, Conflict, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time, moment_after, parse_time

Admit = Callable[[Object], Awaitable[None]]
GraceOf = Callable[[Object, int | None], int]  # (object, seconds asked for) -> seconds

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete answers: the object as it was, or as it now waits. `removed` says which."""

    stored: Stored
    removed: bool


class Deleter:
    """DELETE on single objects of one kind."""

    def __init__(self, kind: Kind, machinery: Machinery) -> None:
        self.kind, self._machinery = kind, machinery
        self._storage, self._cache = machinery.storage, machinery.cache
        self._forms = StoredForms.of_ordered(kind)

    async def delete(
        self, context: Context, options: DeleteOptions, *, is_admitted: bool = False, is_one_of_many: bool = False
    ) -> Deleted:
        """Delete, or begin to; NotFound, Conflict on a precondition. A lost race is tried again.

        `is_admitted`: admission let through what this is a part of (an eviction). `is_one_of_many`: the request named
        a collection, so to admission it has no name.
        """
        admit = None if is_admitted else partial(self._admit, context=context, is_one_of_many=is_one_of_many)
        key = context.key(self.kind.storage)
        context.warnings.add(*self.kind.strategy.deletion_warnings(options.says_what_becomes_of_dependents))
        await self._cache.fresh()
        while True:
            current = self._cache.get(key)
            if current is None:
                raise NotFound.of(self.kind.plural, self.kind.group, context.name)
            try:
                return await self._delete(current, context, options, admit)
            except RevisionMismatch as error:
                if options.resource_version:
                    raise Conflict.of(self.kind.plural, self.kind.group, context.name, STALE) from error
                await self._cache.fresh()

    async def _delete(self, current: Stored, context: Context, options: DeleteOptions, admit: Admit | None) -> Deleted:
        shown = await self._forms.shown(current)
        obj = shown.object()
        self.check_preconditions(obj, options)
        if admit is not None:
            await admit(obj)
        waiting = self._waiting(obj, options)
        if waiting is None:
            if _grace_of(obj) != _grace_of(shown.object()) and not context.dry_run:
                # An end without grace is two writes: watchers see the grace become 0, and then the removal.
                current = (await self._mark(current, obj, context)).stored
            return await self._remove(current, obj, context)
        if waiting == shown.object():
            return Deleted(shown, removed=False)
        return await self._mark(current, waiting, context)

    def check_preconditions(self, obj: Object, options: DeleteOptions) -> None:
        """Conflict where the object is not the one, or not the version, that the caller means."""
        metadata = obj["metadata"]
        for label, wanted, found, why in (
            ("UID", options.uid, metadata["uid"], "The object might have been deleted and then recreated"),
            (
                "ResourceVersion",
                options.resource_version,
                metadata["resourceVersion"],
                "The object might have been modified",
            ),
        ):
            if wanted not in (None, found) and self.kind.strategy.has_own_deletion:
                where = f"{label} in precondition: {wanted}, {label} in object meta: {found}"
                raise Conflict.of(self.kind.plural, self.kind.group, metadata["name"], f"Precondition failed: {where}")
            if wanted not in (None, found):
                raise Conflict.of(
                    self.kind.resource.kind,
                    self.kind.group,
                    metadata["name"],
                    f"the {label} in the precondition ({wanted}) does not match the {label} in record ({found}). {why}",
                )

    async def _admit(self, obj: Object, context: Context, is_one_of_many: bool) -> None:
        attributes = context.attributes(DELETE, self.kind.resource, None, obj)
        if is_one_of_many:
            attributes.name = ""
        await self._machinery.admission.mutate(attributes)
        await self._machinery.admission.validate(attributes)

    def _waiting(self, obj: Object, options: DeleteOptions) -> Object | None:
        """The object as it waits for its end, or None where nothing holds it back."""
        now = self._machinery.clock.now()
        strategy = self.kind.strategy
        if (begun := strategy.begin_deletion(obj, now)) is not None:
            if "deletionTimestamp" not in obj["metadata"]:
                _set_first_finalizers(begun["metadata"], options)
            return begun
        grace = Grace.OVER
        if strategy.graceful_deletion:
            grace = set_grace(obj, options.grace_period_seconds, strategy.deletion_grace_seconds, now)
        if grace is Grace.PENDING:
            return obj
        metadata = obj["metadata"]
        finalizers = self._finalizers(metadata.get("finalizers") or [], options)
        if finalizers:
            metadata["finalizers"] = finalizers
            if grace is Grace.OVER:
                mark_deleted(obj, now)
        else:
            metadata.pop("finalizers", None)
        return obj if finalizers or grace is Grace.BEGUN else None

    def _finalizers(self, present: list[str], options: DeleteOptions) -> list[str]:
        strategy = self.kind.strategy
        if not strategy.can_have_dependents:
            return [name for name in present if name not in (ORPHAN, FOREGROUND)]
        return wanted_finalizers(present, options, strategy.orphans_by_default)

    async def _remove(self, current: Stored, obj: Object, context: Context) -> Deleted:
        """Watchers are shown the last stored version; the answer, where a grace period of 0 ended it, shows that."""
        answer = self._forms.answer(current, obj)
        if not context.dry_run:
            change = await self._storage.write(Write(current.key, current.revision, None))
            answer = replace(answer, revision=change.revision)
            await self.kind.strategy.removed(obj, self._machinery.cluster)
        return Deleted(answer, removed=True)

    async def _mark(self, current: Stored, obj: Object, context: Context) -> Deleted:
        if context.dry_run:
            return Deleted(self._forms.answer(current, obj), removed=False)
        change = await self._storage.write(Write(current.key, current.revision, await self._forms.value(obj)))
        assert change.current is not None
        return Deleted(await self._forms.shown(change.current), removed=False)


class Grace(Enum):
    """Where a graceful deletion stands after another DELETE."""

    BEGUN = "it waits, from now on or for less long than before"
    PENDING = "it waits as it did; the request changes nothing"
    OVER = "nothing more is waited for"


def set_grace(obj: Object, requested: int | None, seconds_for: GraceOf, now: datetime) -> Grace:
    """Start a graceful deletion, or shorten the one under way."""
    metadata = obj["metadata"]
    if requested is not None and requested < 0:
        requested = 1
    if "deletionTimestamp" not in metadata:
        seconds = seconds_for(obj, requested)
        metadata["deletionTimestamp"] = format_time(moment_after(now, seconds))
        metadata["deletionGracePeriodSeconds"] = seconds
        _raise_generation(obj)
        return Grace.BEGUN if seconds else Grace.OVER
    current = metadata.get("deletionGracePeriodSeconds") or 0
    if current == 0:
        return Grace.OVER
    if requested is None or requested >= current:
        return Grace.PENDING
    seconds, end = requested, moment_after(parse_time(metadata["deletionTimestamp"]), requested - current)
    if end < now:
        seconds, end = min(requested, 1), now  # all of it has passed: a last second, as long as any was asked for
    metadata["deletionTimestamp"] = format_time(end)
    metadata["deletionGracePeriodSeconds"] = seconds
    return Grace.BEGUN if seconds else Grace.OVER


def _grace_of(obj: Object) -> int | None:
    return obj["metadata"].get("deletionGracePeriodSeconds")


def mark_deleted(obj: Object, now: datetime) -> None:
    """Say that the object is being deleted, with no grace: finalizers alone hold it."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_time(now)
        _raise_generation(obj)
    metadata["deletionGracePeriodSeconds"] = 0


def _raise_generation(obj: Object) -> None:
    if generation := obj["metadata"].get("generation"):
        obj["metadata"]["generation"] = generation + 1


def _set_first_finalizers(metadata: Object, options: DeleteOptions) -> None:
    """What the policy asks for at the first step of a kind's own deletion, where "not orphaned" means foreground."""
    present = metadata.get("finalizers") or []
    policy, orphan = options.propagation_policy, options.orphan_dependents
    wanted = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    if orphan is None and policy is None:
        return
    if orphan or (orphan is None and policy == "Orphan"):
        wanted.append(ORPHAN)
    elif orphan is False or policy == "Foreground":
        wanted.append(FOREGROUND)
    if wanted:
        metadata["finalizers"] = wanted
    else:
        metadata.pop("finalizers", None)


def wanted_finalizers(present: list[str], options: DeleteOptions, orphans_by_default: bool) -> list[str]:
    """The finalizers after a delete: what the propagation policy asks the garbage collector to do first."""
    policy, orphan = options.propagation_policy, options.orphan_dependents
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if not policy:
        if ORPHAN in present:
            policy = "Orphan"
        elif FOREGROUND in present:
            policy = "Foreground"
        elif orphans_by_default:
            policy = "Orphan"
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    asked = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy or "")
    return [*kept, asked] if asked else kept
