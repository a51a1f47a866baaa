"""Ownership of replicas, carried between a workload's entries and those of the Scale through which it is changed."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.patch.server_side_apply.field_sets import FieldSet, difference, holds_path, of_path
from apiserver.patch.server_side_apply.managers import Entry, Identity, Managed

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")
_IN_SCALE: FieldSet = of_path(*_REPLICAS)


# Where each known version of a workload keeps its replicas; () where it has no Scale.
Paths = Mapping[str, tuple[str, ...]]


def to_scale(parent: Managed, paths: Paths) -> Managed:
    """The entries of those who own replicas, as they own them in the Scale."""
    return {
        who: Entry(SCALE_VERSION, _IN_SCALE, entry.time)
        for who, entry in parent.items()
        if (path := paths.get(entry.api_version)) and holds_path(entry.fields, path)
    }


def to_parent(parent: Managed, scale: Managed, paths: Paths, api_version: str) -> Managed:
    """The workload's entries after the Scale's came out as `scale`; new owners have no time, as upstream."""
    scale = dict(scale)
    result: Managed = {}
    for who, entry in parent.items():
        path = paths.get(entry.api_version)
        if path is None:
            continue
        if not path or not holds_path(entry.fields, path) or _taken(scale, who):
            result[who] = entry
        elif fields := difference(entry.fields, of_path(*path)):
            result[who] = entry._replace(fields=fields)
    for who, entry in scale.items():
        if holds_path(entry.fields, _REPLICAS):
            before = parent.get(who)
            owned = of_path(*paths[api_version])
            result[_of_parent(who, api_version)] = Entry(api_version, owned, before.time if before else "")
    return result


def _taken(scale: Managed, who: Identity) -> bool:
    return scale.pop(who, None) is not None


def _of_parent(who: Identity, api_version: str) -> Identity:
    return who._replace(api_version=api_version) if who.api_version else who
