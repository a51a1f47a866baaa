"""Sets of field paths: the laws of sets, and what taking a path away means to those below it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch.server_side_apply import field_sets
from apiserver.patch.server_side_apply.field_sets import FieldSet

Path = tuple[str, ...]
PATHS = st.frozensets(st.lists(st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}']), min_size=1, max_size=3).map(tuple))


def set_of(paths: frozenset[Path] | set[Path]) -> FieldSet:
    fields: FieldSet = {}
    for path in paths:
        fields = field_sets.union(fields, field_sets.of_path(*path))
    return fields


def paths_of(fields: FieldSet) -> set[Path]:
    return set(field_sets.paths(fields))


@given(PATHS, PATHS)
def test_operations_are_those_of_sets_of_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    """Union, intersection and difference of tries are those of the paths in them."""
    one, other = set_of(left), set_of(right)

    results = (
        paths_of(field_sets.union(one, other)),
        paths_of(field_sets.intersection(one, other)),
        paths_of(field_sets.difference(one, other)),
    )

    assert (left | right, left & right, left - right) == results


@given(PATHS, PATHS)
def test_sets_are_asked_what_they_share(left: frozenset[Path], right: frozenset[Path]) -> None:
    """Whether they have a path in common, and whether one has all paths of the other."""
    one, other = set_of(left), set_of(right)

    assert bool(left & right) == field_sets.overlap(one, other)
    assert (left >= right) == field_sets.contains(one, other)
    assert field_sets.contains(set_of(left | right), other)


@given(PATHS, PATHS)
def test_recursive_difference_takes_what_lies_below(left: frozenset[Path], right: frozenset[Path]) -> None:
    """A recursive difference also drops every path that begins with one taken away."""
    expected = {path for path in left if not any(path[: len(prefix)] == prefix for prefix in right)}

    actual = paths_of(field_sets.recursive_difference(set_of(left), set_of(right)))

    assert expected == actual


@given(PATHS)
def test_a_set_written_and_read_is_the_same(paths: frozenset[Path]) -> None:
    """What `read` makes of a fieldsV1 holds the same paths, in the order the API writes them."""
    fields = field_sets.ordered(set_of(paths))

    again = field_sets.read(fields)

    assert (paths, list(fields)) == (paths_of(again), list(again))


@pytest.mark.parametrize(
    ("sent", "ours"),
    [
        ({'k:{"protocol":"TCP","port":80}': {}}, {'k:{"port":80,"protocol":"TCP"}': {}}),
        ({"v: 1": {".": {}}}, {"v:1": {}}),
        ({"x:later": {}, "f:a": {}}, {"f:a": {}}),
    ],
)
def test_foreign_spellings_become_ours(sent: FieldSet, ours: FieldSet) -> None:
    """Keys in another order, spaces, and steps of kinds we do not know do not make paths differ."""
    assert ours == field_sets.read(sent)


@pytest.mark.parametrize("sent", [{"f:a": 1}, {"k:{": {}}, ["f:a"]])
def test_what_is_no_set_is_refused(sent: Any) -> None:
    """A fieldsV1 that is no trie raises UnreadableFields."""
    with pytest.raises(field_sets.UnreadableFields):
        field_sets.read(sent)


def test_paths_are_shown_as_errors_show_them() -> None:
    """Keys are quoted as Go does; paths that end come before longer ones."""
    fields = {"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}, "f:x": {'v:"a"': {}}}}

    assert [
        '.spec.ports[port=80,protocol="TCP"]',
        '.spec.ports[port=80,protocol="TCP"].name',
        '.spec.x[="a"]',
    ] == field_sets.path_texts(fields)


def test_items_are_ordered_by_their_numbers() -> None:
    """Port 443 comes after port 80, although its text does not."""
    fields = {'k:{"port":443}': {}, 'k:{"port":80}': {}}

    assert ['k:{"port":80}', 'k:{"port":443}'] == list(field_sets.in_order(fields))
