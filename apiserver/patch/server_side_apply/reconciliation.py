"""Old entries under a new schema: what became atomic is owned as a whole by whoever owned a part of it."""

from __future__ import annotations

from apiserver.patch.server_side_apply.field_sets import MEMBER, SELF, FieldSet
from apiserver.patch.server_side_apply.managers import Managed
from apiserver.patch.server_side_apply.shapes import DEDUCED, LIST, SCALAR, Shape
from apiserver.patch.server_side_apply.tracking import Versions


def reconciled(managed: Managed, versions: Versions) -> Managed:
    """The entries, each in accord with the shape its version has now."""
    result: Managed = {}
    for who, entry in managed.items():
        shape = versions.shape(entry.api_version)
        if shape is not None:  # those of versions that are gone go too
            fields = _settled(entry.fields, shape)
            result[who] = entry if fields is entry.fields else entry._replace(fields=fields)
    return result


def _settled(fields: FieldSet, shape: Shape) -> FieldSet:
    """`fields` itself where it is in accord."""
    settled = {}
    is_same = True
    for step, branch in fields.items():
        inner = _below(shape, step)
        if branch and inner is not None and inner.form not in (SCALAR, DEDUCED):
            kept = MEMBER if inner.is_leaf else _settled(branch, inner)
        else:
            kept = branch
        is_same = is_same and kept is branch
        settled[step] = kept
    return fields if is_same else settled


def _below(shape: Shape, step: str) -> Shape | None:
    if step == SELF:
        return None
    return shape.items if shape.form == LIST else shape.below(step)
