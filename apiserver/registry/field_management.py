"""Field management: who owns which fields of the objects of one kind, kept in metadata.managedFields.

The bridge between the stores, which call it on every write, and the pure algorithms of
`apiserver.patch.server_side_apply`. `created` and `updated` note what a request changed; `applied` merges an apply
patch. It knows versions and conversions of kinds, the time, and the texts of refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.patch.server_side_apply import applying, last_applied
from apiserver.patch.server_side_apply.checking import problems_text
from apiserver.patch.server_side_apply.conflicts import ApplyConflict
from apiserver.patch.server_side_apply.creation import Creation
from apiserver.patch.server_side_apply.managers import (
    APPLY,
    UPDATE,
    Entry,
    Managed,
    UnreadableEntries,
    decode,
    decode_foreign,
    encode,
    identity,
    is_reset,
    same_but_times,
)
from apiserver.patch.server_side_apply.reconciliation import reconciled
from apiserver.patch.server_side_apply.shapes import Unnamed
from apiserver.patch.server_side_apply.tracking import Filter, Writer, track
from apiserver.registry.field_versions import KindVersions
from apiserver.registry.reset_fields import filter_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, BadRequest
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

Entries = Sequence[Mapping[str, Any]]

# Owns what was there before the first apply, where nobody kept count until then.
_BEFORE_FIRST_APPLY = "before-first-apply"


_BAD_AFTER_ADMISSION = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: {}"
)


class Applied(NamedTuple):
    """What an apply comes to. `document` is as the API shows it, None where nothing changed but ownership."""

    document: Object | None
    entries: Entries


class FieldManagement:
    """Of one kind, in one version, as requests name it."""

    def __init__(self, versions: KindVersions, clock: Clock) -> None:
        self._versions, self._clock = versions, clock
        self._filters: dict[str, Filter] = {}
        self._creation: Creation | None = None  # made when the first object is

    async def created(self, obj: Object, manager: str) -> None:
        """Note that `manager` sent a new object. Entries it sent along hold for the fields it did not set itself."""
        sent = obj["metadata"].pop("managedFields", None)
        if managed := _foreign(sent) if sent else {}:
            await self._track(self._versions.blank, obj, managed, manager, "")
        else:
            self._track_new(obj, manager)

    async def updated(self, new: Object, old: Object, manager: str, subresource: str) -> None:
        """Note what `manager` changed. A request may replace the entries or drop them, but not through a subresource.

        Where nobody was noted before, nobody is: an object without entries stays so until it is applied.
        """
        sent = new["metadata"].pop("managedFields", None)
        had = old["metadata"].get("managedFields") or ()
        if not subresource and is_reset(sent):
            return
        managed: Managed = {}
        if sent and sent != had and not subresource:
            managed = reconciled(_foreign(sent), self._versions)
        managed = managed or decode(had)
        if managed:
            if self._versions.may_change:
                managed = reconciled(managed, self._versions)
            await self._track(_without_entries(old), new, managed, manager, subresource)

    def admitted(self, obj: Object, before: Entries | None, warn: Callable[[str], None]) -> None:
        """Take the entries of an object that admission gave back; bad ones are put back to those `before` it."""
        metadata = obj["metadata"]
        entries = metadata.pop("managedFields", None)
        try:
            managed = decode_foreign(entries or ())
        except UnreadableEntries as error:
            warn(_BAD_AFTER_ADMISSION.format(error))
            managed = decode(before or ())
        if managed:
            metadata["managedFields"] = encode(managed)

    async def _track(self, old: Object, new: Object, managed: Managed, manager: str, subresource: str) -> None:
        writer = self._writer(manager, UPDATE, subresource)
        before, after = self._versions.shown(old), self._versions.shown(new)
        try:
            managed = await self._versions.worked_out(lambda versions: track(before, after, managed, writer, versions))
        except (Unnamed, ApiError):
            return  # of items without their keys nobody can be said to own anything, nor of what a webhook keeps back
        if managed:
            new["metadata"]["managedFields"] = encode(managed)

    def _track_new(self, obj: Object, manager: str) -> None:
        """The same for a new object without entries: all in it is the manager's."""
        if self._creation is None:
            versions = self._versions
            self._creation = Creation(versions.own_shape, versions.blank, self._filter(""))
        try:
            owned = self._creation.owned(self._versions.shown(obj))
        except Unnamed:
            return
        if owned:
            who, version = identity(manager, UPDATE, self._versions.api_version, ""), self._versions.api_version
            obj["metadata"]["managedFields"] = encode({who: Entry(version, owned, format_time(self._clock.now()))})

    async def applied(
        self, config: Object, old: Object | None, manager: str, subresource: str, *, force: bool
    ) -> Applied:
        """Merge a configuration into an object, or into nothing. Raises Conflict, and BadRequest or a 500."""
        self._check(config)
        blank = self._versions.with_type(self._versions.blank)
        live = blank if old is None else self._versions.with_type(self._versions.shown(old))
        managed = decode(live.get("metadata", {}).get("managedFields") or ())
        live = _without_entries(live)
        if managed:
            managed = reconciled(managed, self._versions)
        else:
            before = self._writer(_BEFORE_FIRST_APPLY, UPDATE, subresource)
            try:
                managed = await self._versions.worked_out(lambda versions: track(blank, live, {}, before, versions))
            except Unnamed as error:
                where = "failed to create manager for existing fields: failed to convert new object"
                raise self._untyped(f"{where} ({self._named(live)}) to smd typed", live) from error
        writer = self._writer(manager, APPLY, subresource)
        try:
            document, managed = await self._merged(live, config, managed, writer, force=force)
        except Unnamed as error:
            raise self._untyped(f"failed to create typed live object ({self._named(live)})", live) from error
        if manager == last_applied.KUBECTL:
            shown = live if document is None else document
            updated = last_applied.kept_up_to_date(shown, config)
            document = document if updated is shown else updated
        return Applied(document, encode(managed))

    def _untyped(self, what: str, live: Object) -> ApiError:
        """An object with items that lack their keys, as validation lets some through: upstream's own error."""
        return ApiError(f"{what}: {problems_text(self._versions.own_shape, live, may_repeat=True)}", code=500)

    def _check(self, config: Object) -> None:
        """Refuse what is no configuration of this kind."""
        sent = _group_version_kind(config)
        if sent != self._versions.group_version_kind:
            raise BadRequest(f"invalid object type: {sent}")
        metadata = config.get("metadata")
        if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        if why := problems_text(self._versions.own_shape, config):
            raise ApiError(f"failed to create typed patch object ({self._named(config)}): {why}", code=500)

    async def _merged(
        self, live: Object, config: Object, managed: Managed, writer: Writer, *, force: bool
    ) -> tuple[Object | None, Managed]:
        try:
            return await self._versions.worked_out(
                lambda versions: applying.apply(live, config, managed, writer, versions, force)
            )
        except ApplyConflict as conflict:
            left: ApplyConflict | None = conflict
            if writer.identity.manager == last_applied.KUBECTL:
                left = last_applied.conflict_beyond(conflict, live, self._versions.own_shape, writer.api_version)
            if left is not None:
                raise left.refusal() from conflict
        return await self._versions.worked_out(
            lambda versions: applying.apply(live, config, managed, writer, versions, True)
        )

    def unconvertible(self, config: Object, why: object) -> ApiError:
        """The refusal of a configuration whose values are no good: upstream's own error, hence 500."""
        kind = self._versions.group_version_kind
        return ApiError(
            f"failed to convert new object ({self._named(config)}) to proper version: "
            f"unable to convert unstructured object to {kind}: {why}",
            code=500,
        )

    def _named(self, config: Object) -> str:
        metadata = config.get("metadata")
        names = metadata if isinstance(metadata, dict) else {}
        namespace, name = (
            value if isinstance(value := names.get(field), str) else "" for field in ("namespace", "name")
        )
        return f"{namespace}/{name}; {self._versions.group_version_kind}"

    def _writer(self, manager: str, operation: str, subresource: str) -> Writer:
        version = self._versions.api_version
        who = identity(manager, operation, version, subresource)
        return Writer(who, version, format_time(self._clock.now()), self._filter(subresource))

    def _filter(self, subresource: str) -> Filter:
        found = self._filters.get(subresource)
        if found is None:
            found = self._filters[subresource] = filter_of(self._versions.kind, subresource)
        return found


def differs_in_times(new: Object, old: Object) -> bool:
    """Whether only the times of entries are new: then nothing is written, lest versions move for nothing."""
    before = old["metadata"].get("managedFields") or ()
    if not before or {**new, "metadata": {**new["metadata"], "managedFields": before}} != old:
        return False  # the rest is compared first, for it nearly always differs
    return same_but_times(new["metadata"].get("managedFields") or (), before)


def _foreign(sent: Any) -> Managed:
    """Entries a request carries; none where they are no good, which is not held against it."""
    try:
        return decode_foreign(sent)
    except UnreadableEntries:
        return {}


def _without_entries(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _group_version_kind(config: Object) -> str:
    """As Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`."""
    version, kind = (value if isinstance(value := config.get(field), str) else "" for field in ("apiVersion", "kind"))
    if version.count("/") > 1:
        return "/, Kind="
    return f"{version if '/' in version else f'/{version}'}, Kind={kind}"
