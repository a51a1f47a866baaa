"""The entries of metadata.managedFields: read, written, sorted, and kept few.

An entry says which manager owns which fields, by applying or by updating, in which version and through which
subresource. Everything here works on whole lists of entries; `tracking` and `applying` decide what they own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.patch.server_side_apply.field_sets import FieldSet, UnreadableFields, read, union

APPLY, UPDATE = "Apply", "Update"

# Entries of updates are kept for so many managers; the oldest are thrown together under another name.
MAX_UPDATERS = 10
_ANCIENT = "ancient-changes"


class Identity(NamedTuple):
    """What tells entries apart. Of appliers the version does not count: they have one entry each."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @property
    def text(self) -> str:
        """Only for sorting as upstream does, by the identity's JSON."""
        return '"'.join(self)


def identity(manager: str, operation: str, api_version: str, subresource: str) -> Identity:
    return Identity(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


class Entry(NamedTuple):
    """What one manager owns. `time` is "" where nothing that it wrote ever changed the object."""

    api_version: str
    fields: FieldSet
    time: str = ""


Managed = dict[Identity, Entry]


def is_reset(entries: Any) -> bool:
    """Whether a request asks to forget all managers: with an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not entries[0]))


class UnreadableEntries(ValueError):
    """Entries a client made up, which are no good."""


def decode(entries: Iterable[Mapping[str, Any]]) -> Managed:
    """Entries as we wrote them ourselves."""
    return {
        Identity(
            entry.get("manager", ""),
            operation := entry["operation"],
            "" if operation == APPLY else entry["apiVersion"],
            entry.get("subresource", ""),
        ): Entry(entry["apiVersion"], entry["fieldsV1"], entry.get("time") or "")
        for entry in entries
    }


def decode_foreign(entries: Iterable[Mapping[str, Any]]) -> Managed:
    """Entries as a client sent them. Raises UnreadableEntries."""
    managed: Managed = {}
    for i, entry in enumerate(entries):
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise UnreadableEntries("operation must be `Apply` or `Update`")
        if not version:
            raise UnreadableEntries("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise UnreadableEntries(f"invalid fieldsType in managed fields entry {i}")
        who = Identity(
            entry.get("manager", ""), operation, "" if operation == APPLY else version, entry.get("subresource", "")
        )
        try:
            managed[who] = Entry(version, read(entry.get("fieldsV1")), entry.get("time") or "")
        except UnreadableFields as error:
            raise UnreadableEntries(str(error)) from error
    return managed


def encode(managed: Managed) -> list[dict[str, Any]]:
    """The list for metadata.managedFields: appliers first, then by the second of their last change, then by name."""
    if len(managed) == 1:
        return [_encoded(who, entry) for who, entry in managed.items()]
    in_order = sorted(
        managed.items(),
        key=lambda item: (item[0].operation, item[1].time, item[0].manager, item[1].api_version, item[0].subresource),
    )
    return [_encoded(who, entry) for who, entry in in_order]


def _encoded(who: Identity, entry: Entry) -> dict[str, Any]:
    encoded: dict[str, Any] = {}
    if who.manager:
        encoded["manager"] = who.manager
    encoded["operation"] = who.operation
    encoded["apiVersion"] = entry.api_version
    if entry.time:
        encoded["time"] = entry.time
    encoded["fieldsType"] = "FieldsV1"
    encoded["fieldsV1"] = entry.fields
    if who.subresource:
        encoded["subresource"] = who.subresource
    return encoded


def capped(managed: Managed) -> Managed:
    """The same entries, the oldest of too many updaters merged into one a version."""
    if len(managed) <= MAX_UPDATERS:
        return managed
    updaters = [who for who in managed if who.operation == UPDATE]
    if len(updaters) <= MAX_UPDATERS:
        return managed
    updaters.sort(key=lambda who: (managed[who].time, who.text))
    managed, count = dict(managed), len(updaters)
    first_of: dict[str, Identity] = {}
    for who in updaters:
        if count <= MAX_UPDATERS:
            break
        entry = managed[who]
        first = first_of.setdefault(entry.api_version, who)
        if first is who:
            continue
        bucket = identity(_ANCIENT, UPDATE, entry.api_version, "")
        older = managed[bucket] if bucket in managed else managed.pop(first)
        fields = union(entry.fields, older.fields)
        del managed[who]
        managed[bucket] = entry._replace(fields=fields)
        count -= 1
    return managed


def same_but_times(entries: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the entries differ in times, and in nothing else."""
    if len(entries) != len(others) or entries == others:
        return False
    return all(_timeless(entry) == _timeless(other) for entry, other in zip(entries, others, strict=True))


def _timeless(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "time"}
