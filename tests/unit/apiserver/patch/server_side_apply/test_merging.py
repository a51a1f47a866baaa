"""Merging configurations into objects, and the order of lists afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch.server_side_apply.merging import merge
from apiserver.patch.server_side_apply.shapes import Shape
from apiserver.schema.nodes import TypeNode

TEXT = TypeNode(type="string")
SET = Shape(TypeNode(type="list", items=TEXT, list_type="set"))
ATOMIC = Shape(TypeNode(type="list", items=TEXT, list_type="atomic"))
MAP = Shape(TypeNode(type="map", values=TEXT))
LETTERS = st.lists(st.sampled_from("abcdef"), unique=True)


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("abc", "", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "cb", "acb"),
        ("abc", "dc", "abdc"),
        ("a", "ba", "ba"),
        ("abcd", "da", "bcda"),
    ],
)
def test_items_keep_their_place_among_those_applied(live: str, applied: str, merged: str) -> None:
    """Applied items come in the order applied, the others where they stood between them."""
    assert list(merged) == merge(SET, list(live), list(applied))


@given(LETTERS, LETTERS)
def test_a_merge_of_lists_loses_and_doubles_nothing(live: list[str], applied: list[str]) -> None:
    """Every item of either list is there once, and those applied stand in their order."""
    merged = merge(SET, live, applied)

    assert (sorted({*live, *applied}), applied) == (sorted(merged), [item for item in merged if item in applied])


@given(LETTERS)
def test_applying_what_is_there_changes_nothing(live: list[str]) -> None:
    """Merging a list into itself gives the list."""
    assert live == merge(SET, live, live)


def test_atomic_lists_are_replaced_and_maps_are_merged() -> None:
    """What is owned as a whole is replaced as a whole."""
    assert (["b"], {"a": "1", "b": "2"}) == (merge(ATOMIC, ["a"], ["b"]), merge(MAP, {"a": "1"}, {"b": "2"}))
