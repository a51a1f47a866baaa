"""Applying: a configuration merged into an object, what its manager no longer states taken out, ownership settled."""

from __future__ import annotations

from apiserver.patch.server_side_apply.comparison import Comparison, compare
from apiserver.patch.server_side_apply.conflicts import ApplyConflict
from apiserver.patch.server_side_apply.field_sets import (
    FieldSet,
    difference,
    intersection,
    ordered,
    union,
)
from apiserver.patch.server_side_apply.managers import Entry, Managed
from apiserver.patch.server_side_apply.merging import merge
from apiserver.patch.server_side_apply.ownership import stated, with_named_fields
from apiserver.patch.server_side_apply.removal import without
from apiserver.patch.server_side_apply.shapes import Shape
from apiserver.patch.server_side_apply.tracking import (
    Object,
    Versions,
    Writer,
    owners_of_changes,
    stripped,
    yielded,
)


def apply(
    live: Object, config: Object, managed: Managed, writer: Writer, versions: Versions, force: bool
) -> tuple[Object | None, Managed]:
    """The merged object, None where it equals `live`, and the entries afterwards. Raises ApplyConflict.

    Both objects are in the writer's version; `config` was found to be of its type.
    """
    shape = versions.shape(writer.api_version)
    assert shape is not None, "requests come in a served version"
    last = managed.get(writer.identity)
    fields = writer.filter.fields(stated(shape, config))
    managed = managed | {writer.identity: Entry(writer.api_version, fields, last.time if last else "")}
    merged: Object = merge(shape, live, config)
    if last is not None and last.fields:
        merged = _Pruning(managed, writer, versions).pruned(merged, last)
    found: dict[str, Comparison] = {writer.api_version: writer.filter.comparison(compare(shape, live, merged))}
    if not force and (owners := owners_of_changes(managed, found, live, merged, writer, versions)):
        raise ApplyConflict(owners)
    managed = yielded(managed, found, live, merged, writer, versions, unless=writer.identity)
    return (None if merged == live else merged), _settled(managed, writer, changed=merged != live)


def _settled(managed: Managed, writer: Writer, changed: bool) -> Managed:
    """The applier's entry as it is stored: without the server's own fields, timed where it changed anything."""
    entry = managed.pop(writer.identity, None)
    if entry is None:
        return managed
    fields = ordered(stripped(entry.fields))
    if fields:
        managed[writer.identity] = Entry(entry.api_version, fields, writer.time if changed else entry.time)
    return managed


class _Pruning:
    """Takes out what the applier stated last time, states no more, and nobody else owns.

    Removing an item removes all in it, so what others own there, and what nobody owns, is put back: by removing anew,
    from the merged object, only what should go.
    """

    def __init__(self, managed: Managed, writer: Writer, versions: Versions) -> None:
        self._managed, self._version, self._versions = managed, writer.api_version, versions

    def pruned(self, merged: Object, last: Entry) -> Object:
        version = last.api_version
        shape = self._versions.shape(version)
        if shape is None:
            return merged  # of a version no longer served
        merged = self._versions.convert(merged, self._version, version)
        stated_last = with_named_fields(last.fields, shape)
        pruned = without(shape, merged, stated_last) or {}
        pruned = self._with_owned(merged, pruned, version)
        removed = difference(_all_fields(shape, merged), _all_fields(shape, pruned))
        pruned = without(shape, merged, intersection(removed, stated_last)) or {}
        return self._versions.convert(pruned, version, self._version)

    def _with_owned(self, merged: Object, pruned: Object, version: str) -> Object:
        """`pruned` with what any manager owns, version by version, the pruned one first."""
        owned: dict[str, FieldSet] = {version: {}}
        for entry in self._managed.values():
            owned[entry.api_version] = union(owned.get(entry.api_version, {}), entry.fields)
        at = version
        for other, fields in owned.items():
            shape = self._versions.shape(other)
            if shape is None:
                continue
            merged, pruned = (self._versions.convert(obj, at, other) for obj in (merged, pruned))
            at = other
            kept = union(_all_fields(shape, pruned), with_named_fields(fields, shape))
            pruned = without(shape, merged, difference(_all_fields(shape, merged), kept)) or {}
        return self._versions.convert(pruned, at, version)


def _all_fields(shape: Shape, obj: Object) -> FieldSet:
    return with_named_fields(stated(shape, obj), shape)
