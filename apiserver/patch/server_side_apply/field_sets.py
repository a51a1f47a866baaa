"""Sets of field paths, in the very form the API writes them: FieldsV1 tries of plain dicts.

A key names a step: `f:name` a field, `k:{"name":"c"}` a list item by its keys, `v:"x"` an item by its value, `i:0` one
by its index. A path belongs to the set where its step holds `{}`, or holds `.` besides longer paths. At the root `{}`
is the empty set. Sets are never changed once made, so they share their branches. Whoever makes one keeps its steps in
the order in which the API writes them (`in_order`); the operations here then keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.patch.server_side_apply.path_elements import INDEX, KEY, VALUE, is_step, order_of, path_text, respelled

FieldSet = dict[str, Any]

MEMBER: FieldSet = {}  # what a step holds that belongs to the set and leads no further
SELF = "."


def is_member(branch: FieldSet) -> bool:
    """Whether the step that holds `branch` belongs to the set itself."""
    return not branch or SELF in branch


def _branch(children: FieldSet, member: bool) -> FieldSet | None:
    """What a step holds; None where it is in the set neither itself nor with longer paths."""
    if not children:
        return MEMBER if member else None
    return {SELF: MEMBER, **children} if member else children


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of either set."""
    joined = {step: branch for step, branch in left.items() if step != SELF}
    count = len(joined)
    for step, branch in right.items():
        if step == SELF:
            continue
        other = joined.get(step)
        if other is None:
            joined[step] = branch
        elif other is not branch:
            member = is_member(other) or is_member(branch)
            joined[step] = _branch(union(other, branch), member) or MEMBER
    return in_order(joined) if 0 < count < len(joined) else joined


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are not in `right`; taking a path away leaves those below it."""
    kept: FieldSet = {}
    for step, branch in left.items():
        other = right.get(step)
        if step == SELF:
            continue
        if other is None:
            kept[step] = branch
            continue
        rest = _branch(difference(branch, other), is_member(branch) and not is_member(other))
        if rest is not None:
            kept[step] = rest
    return kept


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are neither in `right` nor below a path of it."""
    kept: FieldSet = {}
    for step, branch in left.items():
        other = right.get(step)
        if step == SELF or (other is not None and is_member(other)):
            continue
        rest = branch if other is None else _branch(recursive_difference(branch, other), is_member(branch))
        if rest is not None:
            kept[step] = rest
    return kept


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of both sets."""
    shared: FieldSet = {}
    for step, branch in left.items():
        other = right.get(step)
        if step == SELF or other is None:
            continue
        rest = _branch(intersection(branch, other), is_member(branch) and is_member(other))
        if rest is not None:
            shared[step] = rest
    return shared


def overlap(left: FieldSet, right: FieldSet) -> bool:
    """Whether a path is in both sets: whether taking `right` from `left` changes it."""
    for step, branch in right.items():
        other = left.get(step)
        if step == SELF or other is None:
            continue
        if (is_member(branch) and is_member(other)) or overlap(other, branch):
            return True
    return False


def contains(left: FieldSet, right: FieldSet) -> bool:
    """Whether all paths of `right` are in `left`."""
    for step, branch in right.items():
        other = left.get(step)
        if step == SELF:
            continue
        if other is None or (is_member(branch) and not is_member(other)) or not contains(other, branch):
            return False
    return True


def below(fields: FieldSet, step: str) -> FieldSet:
    """The paths that begin with `step`, without it."""
    branch = fields.get(step) or MEMBER
    return {inner: deeper for inner, deeper in branch.items() if inner != SELF} if SELF in branch else branch


def holds(fields: FieldSet, step: str) -> bool:
    """Whether the path of this one step is in the set."""
    branch = fields.get(step)
    return branch is not None and is_member(branch)


def holds_path(fields: FieldSet, path: tuple[str, ...]) -> bool:
    *before, last = path
    for step in before:
        fields = below(fields, step)
    return holds(fields, last)


def of_path(*path: str) -> FieldSet:
    """The set of one path."""
    fields = MEMBER
    for step in reversed(path):
        fields = {step: fields}
    return fields


def paths(fields: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path: first those that end here, then the longer ones."""
    steps = sorted((step for step in fields if step != SELF), key=order_of)
    for step in steps:
        if is_member(fields[step]):
            yield (*prefix, step)
    for step in steps:
        yield from paths(fields[step], (*prefix, step))


def path_texts(fields: FieldSet) -> list[str]:
    """Every path as errors show it: `.spec.containers[name="c"].image`."""
    return [path_text(path) for path in paths(fields)]


def in_order(fields: FieldSet) -> FieldSet:
    """The same set, its first steps in the order the API writes them."""
    if len(fields) < 2:
        return fields
    is_list = next(iter(fields))[:2] in _LIST_STEPS  # steps beside each other are of one kind
    steps = sorted(fields, key=order_of if is_list else None)
    return fields if steps == list(fields) else {step: fields[step] for step in steps}


_LIST_STEPS = frozenset({KEY, VALUE, INDEX})


def ordered(fields: FieldSet) -> FieldSet:
    """The same set, all its steps in the order the API writes them."""
    return {step: ordered(branch) for step, branch in in_order(fields).items()}


class UnreadableFields(ValueError):
    """A fieldsV1 that is no set of paths."""


def read(value: Any) -> FieldSet:
    """A fieldsV1 as somebody else wrote it, in our spelling. Raises UnreadableFields."""
    if value is None:
        return {}
    fields = _read(value)
    fields.pop(SELF, None)
    return fields


def _read(value: Any) -> FieldSet:
    if not isinstance(value, dict):
        raise UnreadableFields(f"expected an object, got {value!r}")
    fields: FieldSet = {}
    for step, inner in value.items():
        if step == SELF:
            fields[SELF] = MEMBER
        elif is_step(step):
            try:
                spelled = respelled(step)
            except ValueError as error:
                raise UnreadableFields(str(error)) from error
            fields[spelled] = _read(inner)
    return MEMBER if list(fields) == [SELF] else fields
