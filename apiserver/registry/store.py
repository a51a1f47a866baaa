"""The file to read first: what create, get, update and patch do, the same for every kind.

A `ResourceStore` carries out verbs on one resource in Kubernetes' own order; what differs between kinds it asks of the
kind's Strategy. Handlers call it with decoded objects, it calls admission, validation and storage. Reads come from the
watch cache, which it waits for (`fresh`), so every read sees every acknowledged write. Lists stand in `listing.py`,
deletion in `deletion.py`, the special subresources in `binding.py`, `eviction.py` and `scale.py`.

Objects of custom kinds are in the version asked for throughout: they are converted when they are read, and again when
they are written (`stored_forms.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.auth.authorization import Access, require
from apiserver.registry.catalog import Kind
from apiserver.registry.cluster import Allocated
from apiserver.registry.context import Context, Machinery
from apiserver.registry.field_management import FieldManagement, differs_in_times
from apiserver.registry.field_versions import KindVersions
from apiserver.registry.owner_references import drop_repeated_owners
from apiserver.registry.preconditions import require_same
from apiserver.registry.sent_metadata import (
    DELETION,
    check_version,
    drop_system_fields,
    keep_system_fields,
    match_name,
    match_namespace,
    version_of,
)
from apiserver.registry.stored_forms import StoredForms
from apiserver.registry.strategy import ServerRules, UpdateRules
from apiserver.storage.interface import Key, KeyExists, RevisionMismatch, Stored, Write
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.metadata_validation import NameErrors, create_errors, kube_finalizer_errors, update_errors
from kubeloop.apimachinery.names import generate_name, new_uid
from kubeloop.apimachinery.times import format_time
from kubeloop.apimachinery.validation import path_segment_errors

# How often a generated name is drawn anew (RetryGenerateName).
GENERATE_NAME_ATTEMPTS = 8

Change = Callable[[Object], Object]  # the old object (kept as it is) -> the new one
# The same, where conversion webhooks may have to be asked; None where there is no object yet.
LaterChange = Callable[[Object], Awaitable[Object]]
ApplyChange = Callable[[Object | None], Awaitable[Object]]


class View(Protocol):
    """What admission sees of an object that is written through a subresource of another kind (its Scale)."""

    def shown(self, obj: Object) -> Object: ...

    def changed(self, obj: Object, shown: Object) -> Object:
        """The object after what admission saw of it may have changed."""
        ...


class ResourceStore:
    """The verbs of one resource."""

    def __init__(self, kind: Kind, machinery: Machinery) -> None:
        self.kind = kind
        self.strategy = kind.strategy
        self._machinery = machinery
        self._storage, self._cache = machinery.storage, machinery.cache
        self._resource = kind.resource
        self._forms = StoredForms.of(kind, machinery)
        versions = KindVersions(kind, machinery.schema, machinery.catalog)
        self.field_management = FieldManagement(versions, machinery.clock)

    # -- create ---------------------------------------------------------------------------------------------------

    async def create(
        self, obj: Object, context: Context, *, is_tracked: bool = True, keeps_deletion: bool = False
    ) -> Stored:
        """Store a new object; AlreadyExists where the name is taken.

        `is_tracked` says that whoever sent it owns its fields; an apply brings its entries along. `keeps_deletion`
        leaves it the marks of a deletion, as PUT and apply do.
        """
        match_namespace(obj, self._resource, context.namespace)
        sent_version = obj["metadata"].pop("resourceVersion", "")
        drop_system_fields(obj, () if keeps_deletion else DELETION)
        if is_tracked:
            drop_repeated_owners(obj, context.warnings)
            await self.field_management.created(obj, context.field_manager)
        attributes = context.attributes(CREATE, self._resource, obj)
        obj = await self._mutated(attributes, context)
        drop_repeated_owners(obj, context.warnings, is_late=True)
        has_prefix = bool(obj["metadata"].get("generateName"))
        for attempt in range(GENERATE_NAME_ATTEMPTS):
            generated = self._stamp(obj)
            context.warnings.add(*self.strategy.preparation_warnings(obj))
            self.strategy.prepare_for_create(obj)
            self.strategy.stamp_creator(obj, context.user)
            try:
                async with Allocated(self.strategy.allocate(obj, None, self._machinery.cluster, context.dry_run)):
                    self._check(obj, self._create_errors(obj))
                    self.strategy.complete(obj)
                    context.warnings.add(*self.strategy.warnings(obj))
                    await self._machinery.admission.validate(attributes)
                    return await self._insert(obj, context, version_of(sent_version), may_forget=is_tracked)
            except AlreadyExists as error:
                if not generated or attempt == GENERATE_NAME_ATTEMPTS - 1:
                    if has_prefix:
                        self._blame_generation(error)
                    raise
                del obj["metadata"]["name"]
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _mutated(self, attributes: Attributes, context: Context) -> Object:
        """The object as admission leaves it. One that came back from a webhook or policy is checked again."""
        sent = attributes.object
        assert sent is not None, "writes have an object"
        entries = sent["metadata"].get("managedFields")
        await self._machinery.admission.mutate(attributes)
        new = attributes.object or sent
        if new is not sent:
            match_namespace(new, self._resource, context.namespace)
            drop_system_fields(new)
            self.field_management.admitted(new, entries, context.warnings.add)
        return new

    def _stamp(self, obj: Object) -> bool:
        """The metadata only the server sets; says whether the name was generated."""
        sent = obj["metadata"]
        generated = not sent.get("name") and bool(sent.get("generateName"))
        if not sent.get("managedFields"):  # an empty list, as a webhook may leave it, is not shown
            sent.pop("managedFields", None)
        if generated:
            sent["name"] = generate_name(sent["generateName"], self._machinery.rng)
        sent["uid"] = new_uid(self._machinery.rng)
        sent["creationTimestamp"] = format_time(self._machinery.clock.now())
        return generated

    def _create_errors(self, obj: Object) -> list[FieldError]:
        errors = self._object_errors(obj, self.strategy.name_rules(obj), {})
        errors += self._finalizer_domain_errors(obj)
        own = self.strategy.validate(obj)
        found = [*own] if own and not self.strategy.looks_at_metadata else [*errors, *own]
        return found if found or self.strategy.checks_names else self._object_errors(obj, path_segment_errors, {})

    async def _insert(self, obj: Object, context: Context, sent_version: int, *, may_forget: bool) -> Stored:
        """Store a new object. The version it was sent with is refused here: it is the storage that minds.

        A dry run does not get there, and answers with that version. `may_forget`: who owns what, to save room.
        """
        key, value = self._key(obj), await self._forms.value(obj)
        if context.dry_run:
            await self._cache.fresh()
            if existing := self._cache.get(key):
                raise self._already_exists(existing)
            return await self._forms.shown(Stored(key, sent_version, value.body, value.labels, value.fields))
        if sent_version:
            raise ApiError("resourceVersion should not be set on objects to be created", code=500)
        value = await self._forms.fitting(value, obj, may_forget=may_forget)
        self.strategy.check_before_insert()
        try:
            change = await self._storage.write(Write(key, 0, value, self.strategy.keep_history))
        except KeyExists as error:
            await self._cache.fresh()
            raise self._already_exists(self._cache.get(key), key.name) from error
        assert change.current is not None
        return await self._forms.shown(change.current)

    def _blame_generation(self, error: AlreadyExists) -> None:
        """Whoever gave a prefix is told to try again, even where the name itself was given, as upstream does."""
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}

    def _already_exists(self, existing: Stored | None, name: str = "") -> AlreadyExists:
        error = AlreadyExists.of(self._resource.plural, self._resource.group, existing.key.name if existing else name)
        if existing and existing.object()["metadata"].get("deletionTimestamp"):
            error.message = f"object is being deleted: {error.message}"
        return error

    # -- get ------------------------------------------------------------------------------------------------------

    async def get(self, context: Context) -> Stored:
        """The object named, in the version asked for; NotFound where there is none."""
        return await self._forms.shown(await self._current(context))

    async def _current(self, context: Context) -> Stored:
        await self._cache.fresh()
        stored = self._cache.get(context.key(self.kind.storage))
        if stored is None:
            raise self._not_found(context.name)
        return stored

    def _not_found(self, name: str) -> NotFound:
        return NotFound.of(self._resource.plural, self._resource.group, name)

    # -- update and patch -----------------------------------------------------------------------------------------

    async def update(self, obj: Object, context: Context) -> tuple[Stored, bool]:
        """Replace an object (PUT); says whether that created it, as a few kinds allow."""
        match_namespace(obj, self._resource, context.namespace)
        match_name(obj, context.name)
        drop_repeated_owners(obj, context.warnings)
        await self._cache.fresh()
        exists = self._cache.get(context.key(self.kind.storage)) is not None
        if not exists and self.strategy.allow_create_on_update and not context.subresource:
            self._require_create(context)
            require_same(self.kind, {**obj["metadata"], "uid": ""}, uid=obj["metadata"].get("uid"))
            obj["metadata"].pop("resourceVersion", None)
            return await self.create(obj, context, keeps_deletion=True), True
        change = partial(self._replacement, obj)
        return await self._change(context, at_once(change), self.strategy.allow_unconditional_update), False

    def _replacement(self, obj: Object, old: Object) -> Object:
        """A PUT body may be applied several times and is edited each time; it must mean the object that is there."""
        require_same(self.kind, old["metadata"], uid=obj["metadata"].get("uid"))
        entries = obj["metadata"].pop("managedFields", None)
        new: Object = deep_copy(obj)
        if entries is not None:  # often most of an object, and never edited
            obj["metadata"]["managedFields"] = new["metadata"]["managedFields"] = entries
        return new

    async def patch(
        self,
        change: Change,
        context: Context,
        rules: UpdateRules | None = None,
        *,
        is_tracked: bool = True,
        is_admitted: bool = False,
    ) -> Stored:
        """Apply `change` to the newest version; where another writer was faster, to that one's result again.

        `rules` replaces those of the endpoint where the server itself is the writer (a binding, an eviction).
        `is_tracked` says that the writer comes to own what changed; otherwise `change` settles that itself.
        `is_admitted`: admission let through what this is a part of.
        """
        may_be_unconditional = rules is not None or self.strategy.allow_unconditional_update
        return await self._change(
            context, at_once(change), may_be_unconditional, rules, is_tracked=is_tracked, is_admitted=is_admitted
        )

    async def rewrite(self, change: LaterChange, context: Context, view: View | None = None) -> Stored:
        """The same by a change that settles who owns what and may have to wait for it.

        `view` is what admission sees of the object, where that is not the object itself.
        """
        return await self._change(context, change, True, is_tracked=False, view=view)

    async def apply(self, change: ApplyChange, context: Context) -> tuple[Stored, bool]:
        """Apply a configuration; says whether that created the object. `change` settles who owns what."""
        key = context.key(self.kind.storage)
        while True:
            await self._cache.fresh()
            if self._cache.get(key) is not None or context.subresource:
                return await self.rewrite(change, context), False
            obj = await change(None)
            if uid := obj["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise Conflict.of(self._resource.plural, self._resource.group, context.name, why)
            obj["metadata"].pop("resourceVersion", None)
            self._require_create(context)
            try:
                return await self.create(obj, context, is_tracked=False, keeps_deletion=True), True
            except AlreadyExists:
                continue  # another was faster: applied to that one's

    async def _change(
        self,
        context: Context,
        change: LaterChange,
        may_be_unconditional: bool,
        rules: UpdateRules | None = None,
        *,
        is_tracked: bool = True,
        is_admitted: bool = False,
        view: View | None = None,
    ) -> Stored:
        """Read, change, check, compare-and-swap; on a lost race again, where a version the caller named is refused."""
        rules = rules or self.strategy.update_rules(context.subresource)
        while True:
            current = await self._current(context)
            old = (await self._forms.shown(current)).object()
            new = await change(old)
            if new["metadata"] is old["metadata"]:  # who owns what is noted in it, for the new object alone
                new = {**new, "metadata": dict(new["metadata"])}
            check_version(new, old, self._resource, may_be_unconditional=may_be_unconditional)
            if is_tracked:
                await self.field_management.updated(new, old, context.field_manager, context.subresource)
            if view is None:
                attributes = context.attributes(UPDATE, self._resource, new, old)
            else:
                attributes = context.attributes(UPDATE, self._resource, view.shown(new), view.shown(old))
            if not is_admitted:
                seen = await self._mutated(attributes, context)
                new = seen if view is None else view.changed(new, seen)
            drop_repeated_owners(new, context.warnings, is_late=True)
            keep_system_fields(new, old)
            rules.prepare(new, old)
            self.strategy.stamp_update(new, old, self._machinery.clock.now())
            try:
                async with Allocated(self.strategy.allocate(new, old, self._machinery.cluster, context.dry_run)):
                    self._check(new, self._update_errors(new, old, rules, context.subresource))
                    context.warnings.add(*self.strategy.update_warnings(new, old, context.subresource))
                    if not is_admitted:
                        await self._machinery.admission.validate(attributes)
                    return await self._replace(current, new, old, context, may_forget=is_tracked)
            except RevisionMismatch:
                continue

    def _update_errors(self, new: Object, old: Object, rules: UpdateRules, subresource: str) -> list[FieldError]:
        """What the store says of the metadata, then what the kind says of it again, then the rest."""
        if isinstance(rules, ServerRules):
            return []
        # What is stored was checked; what a conversion webhook makes of it is new each time.
        known = {} if self.kind.is_custom else old
        as_object = self._object_errors(new, path_segment_errors, known)
        has_old_prefix = new["metadata"].get("generateName") == old["metadata"].get("generateName")
        as_change = update_errors(new, old, has_good_parts=not as_object)
        own = self._finalizer_domain_errors(new)
        errors = as_object + as_change
        if self.strategy.rechecks_change or subresource:
            errors += as_change + own
        if self.strategy.rechecks_object and not subresource:
            errors += (
                as_object if has_old_prefix else self._object_errors(new, self.strategy.validate_name, known)
            ) + own
        errors += rules.validate(new, old)
        return errors

    def _finalizer_domain_errors(self, obj: Object) -> list[FieldError]:
        finalizers = obj["metadata"].get("finalizers")
        if not finalizers or not (self.strategy.checks_finalizer_domains and self.strategy.looks_at_metadata):
            return []
        return kube_finalizer_errors(finalizers, "metadata.finalizers")

    def _object_errors(self, obj: Object, name_errors: NameErrors, known: Object) -> list[FieldError]:
        return create_errors(obj, namespaced=self._resource.namespaced, name_errors=name_errors, known=known)

    async def _replace(
        self, current: Stored, new: Object, old: Object, context: Context, *, may_forget: bool
    ) -> Stored:
        """Store `new` in the place of `current`, which shows as `old`, unless that changes nothing."""
        if self.strategy.is_gone_after(new, old):  # its last finalizer went: the answer keeps the old version
            if not context.dry_run:
                await self._storage.write(Write(current.key, current.revision, None))
                await self.strategy.removed(old, self._machinery.cluster)
            return self._forms.answer(current, new)
        is_same = new == old or differs_in_times(new, old)
        value = await self._forms.changed(current, new, old, is_same=is_same)
        if value is None:
            return await self._forms.shown(current)
        if context.dry_run:
            return await self._forms.shown(
                Stored(current.key, current.revision, value.body, value.labels, value.fields)
            )
        value = await self._forms.fitting(value, new, may_forget=may_forget)
        change = await self._storage.write(Write(current.key, current.revision, value, self.strategy.keep_history))
        assert change.current is not None
        return await self._forms.shown(change.current)

    def _require_create(self, context: Context) -> None:
        """Whoever may update or patch may not for that reason create: a PUT or apply that does needs the verb too."""
        access = Access(
            context.user,
            "create",
            self._resource.group,
            self._resource.version,
            self._resource.plural,
            namespace=context.namespace,
            name=context.name,
        )
        require(self._machinery.authorizer, access)

    # -- shared by the verbs --------------------------------------------------------------------------------------

    def _check(self, obj: Object, errors: Sequence[FieldError]) -> None:
        if errors:
            name = obj["metadata"].get("name", "")
            group = self.kind.storage.partition(".")[2]  # of the stored version, which is what was checked
            raise Invalid.of(self._resource.kind, group, name, errors)

    def _key(self, obj: Object) -> Key:
        metadata = obj["metadata"]
        return Key(self.kind.storage, metadata.get("namespace", ""), metadata["name"])


def at_once(change: Change) -> LaterChange:
    """A change that nobody has to wait for."""

    async def changed(old: Object) -> Object:
        return change(old)

    return changed
