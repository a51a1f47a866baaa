"""What a create, update or patch does to ownership: whoever changes a field by it owns it from then on."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from apiserver.patch.server_side_apply.comparison import Comparison, compare
from apiserver.patch.server_side_apply.field_sets import (
    FieldSet,
    contains,
    difference,
    in_order,
    intersection,
    overlap,
    union,
)
from apiserver.patch.server_side_apply.managers import Entry, Identity, Managed, capped
from apiserver.patch.server_side_apply.shapes import Shape

Object = dict[str, Any]

# Fields that are never owned: they are the server's, or say what the object is.
_STRIPPED_METADATA: FieldSet = {
    "f:name": {},
    "f:namespace": {},
    "f:creationTimestamp": {},
    "f:selfLink": {},
    "f:uid": {},
    "f:clusterName": {},
    "f:generation": {},
    "f:managedFields": {},
    "f:resourceVersion": {},
}


def stripped(fields: FieldSet) -> FieldSet:
    """The set without the fields that are never owned."""
    kept = {step: branch for step, branch in fields.items() if step not in ("f:apiVersion", "f:kind")}
    if (in_metadata := kept.pop("f:metadata", None)) and (owned := difference(in_metadata, _STRIPPED_METADATA)):
        kept["f:metadata"] = owned
        return in_order(kept)
    return kept


class Versions(Protocol):
    """The versions one kind is served in."""

    def shape(self, api_version: str) -> Shape | None:
        """None where the kind is not (or no longer) served in that version."""

    def convert(self, obj: Object, from_version: str, to_version: str) -> Object: ...


class Filter(Protocol):
    """What counts on an endpoint: its rules reset everything else anyway."""

    def comparison(self, found: Comparison) -> Comparison: ...

    def fields(self, fields: FieldSet) -> FieldSet: ...


class Writer(NamedTuple):
    """Who writes, when, through which endpoint, in which version."""

    identity: Identity
    api_version: str
    time: str
    filter: Filter


def track(old: Object, new: Object, managed: Managed, writer: Writer, versions: Versions) -> Managed:
    """The entries after an update from `old` to `new`, both in the writer's version."""
    shape = versions.shape(writer.api_version)
    assert shape is not None, "requests come in a served version"
    found = writer.filter.comparison(compare(shape, old, new))
    gained = stripped(writer.filter.fields(found.changed))
    before = managed.get(writer.identity)
    is_as_before = before is not None and _has_all(before.fields, found, gained)
    if managed:
        unless = writer.identity if is_as_before else None
        managed = yielded(managed, {writer.api_version: found}, old, new, writer, versions, unless)
    if not gained:
        return managed
    before = managed.get(writer.identity)
    if before is not None:
        gained = before.fields if is_as_before else union(before.fields, gained)
    return capped({**managed, writer.identity: Entry(writer.api_version, gained, writer.time)})


def _has_all(fields: FieldSet, found: Comparison, gained: FieldSet) -> bool:
    """Whether whoever has `fields` gains nothing by his write and loses nothing: he renews a lease, reports anew."""
    return gained == found.changed and contains(fields, gained) and not overlap(fields, found.removed)


def yielded(
    managed: Managed,
    found: dict[str, Comparison],
    old: Object,
    new: Object,
    writer: Writer,
    versions: Versions,
    unless: Identity | None = None,
) -> Managed:
    """The entries without what changed or went, each compared in its own version; the empty ones are gone.

    `found` has the comparison in the writer's version and gathers those in others. `unless` keeps all it has.
    """
    rest: Managed = {}
    for who, entry in managed.items():
        if who == unless:
            fields: FieldSet = entry.fields
        else:
            comparison = comparison_in(entry.api_version, found, old, new, writer, versions)
            if comparison is None:
                continue
            fields = entry.fields
            if overlap(fields, comparison.changed) or overlap(fields, comparison.removed):
                fields = difference(difference(fields, comparison.changed), comparison.removed)
        if fields:
            rest[who] = entry if fields is entry.fields else entry._replace(fields=fields)
    return rest


def comparison_in(
    api_version: str,
    found: dict[str, Comparison],
    old: Object,
    new: Object,
    writer: Writer,
    versions: Versions,
) -> Comparison | None:
    """How the two differ in a version; None where there is no such version any more."""
    if api_version not in found:
        shape = versions.shape(api_version)
        if shape is None:
            return None
        before = versions.convert(old, writer.api_version, api_version)
        after = versions.convert(new, writer.api_version, api_version)
        found[api_version] = writer.filter.comparison(compare(shape, before, after))
    return found[api_version]


def owners_of_changes(
    managed: Managed, found: dict[str, Comparison], old: Object, new: Object, writer: Writer, versions: Versions
) -> Managed:
    """Who else owns what changed, and of each the fields in question."""
    owners: Managed = {}
    for who, entry in managed.items():
        if who == writer.identity:
            continue
        comparison = comparison_in(entry.api_version, found, old, new, writer, versions)
        fields = intersection(entry.fields, comparison.changed) if comparison else {}
        if fields:
            owners[who] = entry._replace(fields=fields)
    return owners
