"""Ownership of replicas, carried between a workload's entries and those of the Scale through which it is changed."""

from __future__ import annotations

from collections.abc import Container

from apiserver.patch.server_side_apply.field_sets import FieldSet, difference, holds_path, of_path
from apiserver.patch.server_side_apply.managers import Entry, Identity, Managed

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")
_IN_SCALE: FieldSet = of_path(*_REPLICAS)


def to_scale(parent: Managed, versions: Container[str], path: tuple[str, ...] = _REPLICAS) -> Managed:
    """The entries of those who own replicas, as they own them in the Scale."""
    return {
        who: Entry(SCALE_VERSION, _IN_SCALE, entry.time)
        for who, entry in parent.items()
        if entry.api_version in versions and holds_path(entry.fields, path)
    }


def to_parent(
    parent: Managed, scale: Managed, versions: Container[str], api_version: str, path: tuple[str, ...] = _REPLICAS
) -> Managed:
    """The workload's entries after the Scale's came out as `scale`; new owners have no time, as upstream."""
    scale = dict(scale)
    result: Managed = {}
    for who, entry in parent.items():
        if entry.api_version not in versions:
            continue
        if not holds_path(entry.fields, path) or _taken(scale, who):
            result[who] = entry
        elif fields := difference(entry.fields, of_path(*path)):
            result[who] = entry._replace(fields=fields)
    for who, entry in scale.items():
        if holds_path(entry.fields, _REPLICAS):
            before = parent.get(who)
            result[_of_parent(who, api_version)] = Entry(api_version, of_path(*path), before.time if before else "")
    return result


def _taken(scale: Managed, who: Identity) -> bool:
    return scale.pop(who, None) is not None


def _of_parent(who: Identity, api_version: str) -> Identity:
    return who._replace(api_version=api_version) if who.api_version else who
