"""What differs between two values of one shape, as sets of paths. On the path of every update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from apiserver.patch.server_side_apply.field_sets import MEMBER, SELF, FieldSet, in_order, recursive_difference
from apiserver.patch.server_side_apply.ownership import whole
from apiserver.patch.server_side_apply.shapes import DEDUCED, LIST, Shape

_ABSENT: Any = object()


class Comparison(NamedTuple):
    """The paths that are new or have another value, and those that are gone."""

    changed: FieldSet
    removed: FieldSet

    def without(self, ignored: FieldSet) -> Comparison:
        """What remains where some fields, with all in them, do not count."""
        return Comparison(recursive_difference(self.changed, ignored), recursive_difference(self.removed, ignored))

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def compare(shape: Shape, old: Any, new: Any) -> Comparison:
    """How `new` differs from `old`, two objects."""
    changed, removed = _compare_maps(shape, old, new)
    return Comparison(changed, removed)


_Pair = tuple[FieldSet | None, FieldSet | None]  # what the step to a value holds in either set


def _compare(shape: Shape, old: Any, new: Any) -> _Pair:
    """Two values that are both there and differ."""
    if shape.is_leaf or (not old and not new):
        return MEMBER, None
    if shape.form == DEDUCED:
        return _compare_deduced(shape, old, new)
    wanted: Any = list if shape.form == LIST else dict
    if not (isinstance(old, wanted | None) and isinstance(new, wanted | None)):
        return _compare_kinds(shape, wanted, old, new)
    if shape.form == LIST:
        changed, removed = _compare_lists(shape, old or [], new or [])
    else:
        changed, removed = _compare_maps(shape, old or {}, new or {})
    return changed or None, removed or None


def _compare_kinds(shape: Shape, wanted: type, old: Any, new: Any) -> _Pair:
    """Two values not both of the kind that the shape wants, which validation only refuses later: one is a leaf."""
    if isinstance(old, wanted):
        return MEMBER, _parts(whole(shape, old))
    return whole(shape, new) if isinstance(new, wanted) else MEMBER, None


def _compare_maps(shape: Shape, old: dict[str, Any], new: dict[str, Any]) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    fields, values = shape.fields, shape.values
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before is _ABSENT:
            inner = fields.get(name) or values
            if inner is not None:
                changed["f:" + name] = MEMBER if inner.is_leaf else whole(inner, value)
        elif before != value:
            inner = fields.get(name) or values
            if inner is not None:
                _note("f:" + name, _compare(inner, before, value), changed, removed)
    for name in old:
        if name not in new:
            inner = fields.get(name) or values
            if inner is not None:
                removed["f:" + name] = whole(inner, old[name])
    return in_order(changed), removed


def _note(step: str, found: _Pair, changed: FieldSet, removed: FieldSet) -> None:
    if found[0] is not None:
        changed[step] = found[0]
    if found[1] is not None:
        removed[step] = found[1]


def _compare_lists(shape: Shape, old: Sequence[Any], new: Sequence[Any]) -> tuple[FieldSet, FieldSet]:
    step_of, items = shape.step, shape.items
    before = {step_of(item): item for item in old}
    after = {step_of(item): item for item in new}
    if len(before) < len(old) or len(after) < len(new):
        return _compare_repeated(shape, old, new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for step, item in after.items():
        former = before.get(step, _ABSENT)
        if former is _ABSENT:
            changed[step] = whole(items, item)
        elif former != item:
            _note(step, _compare(items, former, item), changed, removed)
    for step, former in before.items():
        if step not in after:
            removed[step] = whole(items, former)
    return in_order(changed), removed


def _compare_repeated(shape: Shape, old: Sequence[Any], new: Sequence[Any]) -> tuple[FieldSet, FieldSet]:
    """Two lists in which names are repeated, as validation lets some through."""
    before, after = _by_step(shape, old), _by_step(shape, new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for step in {**after, **before}:
        found = _compare_items(shape.items, before.get(step, []), after.get(step, []))
        _note(step, found, changed, removed)
    return in_order(changed), removed


def _by_step(shape: Shape, items: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(shape.step(item), []).append(item)
    return found


def _compare_items(shape: Shape, old: list[Any], new: list[Any]) -> _Pair:
    """The items of one name. Duplicates are owned as a whole, under their name alone."""
    if old == new:
        return None, None
    if len(old) > 1 and len(new) > 1:
        return MEMBER, None
    if len(old) > 1:
        return whole(shape, new[0]) if new else None, MEMBER
    if len(new) > 1:
        return MEMBER, whole(shape, old[0]) if old else None
    if not old:
        return whole(shape, new[0]), None
    return _compare(shape, old[0], new[0]) if new else (None, whole(shape, old[0]))


def _compare_deduced(shape: Shape, old: Any, new: Any) -> _Pair:
    """Two values of unknown type; where only one is a map, the value changed and its parts came or went."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed, removed = _compare_maps(shape, old, new)
        return changed or None, removed or None
    if old is not None and new is not None:
        return _compare_kinds(shape, dict, old, new)
    if old is None and isinstance(new, dict):
        return _parts(whole(shape, new)), None
    if new is None and isinstance(old, dict):
        return None, _parts(whole(shape, old))
    return MEMBER, None


def _parts(branch: FieldSet) -> FieldSet | None:
    return {step: inner for step, inner in branch.items() if step != SELF} or None
