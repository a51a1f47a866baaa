"""The paths of a value: what is owned of one that had no counterpart, and what an applied configuration states."""

from __future__ import annotations

from typing import Any

from apiserver.patch.server_side_apply.field_sets import MEMBER, SELF, FieldSet, in_order
from apiserver.patch.server_side_apply.shapes import DEDUCED, LIST, Shape


def whole(shape: Shape, value: Any) -> FieldSet:
    """What a step holds that leads to a value which was not there before: itself, and everything in it.

    This is on the path of every creation.
    """
    if shape.is_leaf or not value:
        return MEMBER
    if shape.form == LIST and type(value) is list:
        return {SELF: MEMBER, **_whole_items(shape, value)}
    if shape.form == LIST or type(value) is not dict:
        return MEMBER
    owned: FieldSet = {SELF: MEMBER}
    fields, values = shape.fields, shape.values
    for name in sorted(value) if len(value) > 1 else value:
        inner = fields.get(name) or values
        if inner is not None:
            owned["f:" + name] = MEMBER if inner.is_leaf else whole(inner, value[name])
    return owned


def _whole_items(shape: Shape, items: list[Any]) -> FieldSet:
    if len(items) == 1:
        return {shape.step(items[0]): whole(shape.items, items[0])}
    owned: FieldSet = {}
    for item in items:
        step = shape.step(item)
        owned[step] = MEMBER if step in owned else whole(shape.items, item)  # of duplicates, only the name
    return in_order(owned)


def stated(shape: Shape, value: Any) -> FieldSet:
    """The paths an applied configuration names: its leaves, its list items, and what it leaves empty on purpose."""
    if shape.is_leaf or not isinstance(value, dict | list):
        return MEMBER
    if shape.form == LIST:
        return _stated_items(shape, value if isinstance(value, list) else [])
    if not isinstance(value, dict):
        return MEMBER
    found: FieldSet = {}
    for name, inner in value.items():
        of = shape.field(name)
        if of is None:
            continue
        branch = _stated_below(of, inner)
        if name not in shape.fields:
            branch = _with_self(branch)
        if branch is not None:
            found[f"f:{name}"] = branch
    return found


def _stated_below(shape: Shape, value: Any) -> FieldSet | None:
    """What the step to `value` holds; None where the configuration says nothing by it (an empty list)."""
    if value is None or value == {} or shape.is_leaf:
        return MEMBER
    if shape.form == DEDUCED and not isinstance(value, dict):
        return MEMBER
    return stated(shape, value) or None


def _with_self(branch: FieldSet | None) -> FieldSet:
    return {SELF: MEMBER, **branch} if branch else MEMBER


def _stated_items(shape: Shape, items: list[Any]) -> FieldSet:
    found: FieldSet = {}
    repeated = set()
    for item in items:
        step = shape.step(item)
        if step in found:
            repeated.add(step)
        found[step] = _with_self(_stated_below(shape.items, item))
    return found | dict.fromkeys(repeated, MEMBER)


def with_named_fields(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set and, of every path in it, the named fields on the way, which are otherwise not counted."""
    if shape is None:
        return fields
    result: FieldSet = {}
    for step, branch in fields.items():
        if step == SELF or not branch:
            result[step] = branch
            continue
        deeper = with_named_fields(branch, shape.below(step))
        if step.startswith("f:") and step[2:] in shape.fields and SELF not in deeper:
            deeper = {SELF: MEMBER, **deeper}
        result[step] = deeper
    return result
