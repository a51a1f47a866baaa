"""JSON merge patch: the examples of RFC 7386 and its round trip."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch import merge_patch
from kubeloop.apimachinery.errors import BadRequest

# Without null, which a merge patch cannot write.
JSON = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text("ab", max_size=2), JSON, max_size=4)


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that makes `new` of `old`."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            patch[key] = difference(old[key], value)
        elif key not in old or old[key] != value or type(old[key]) is not type(value):
            patch[key] = value
    return patch


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_examples_of_rfc_7386(document: Any, patch: Any, expected: Any) -> None:
    """Those of the RFC's examples that are about objects give its results."""
    assert expected == merge_patch.apply(document, patch)


def test_nulls_in_lists() -> None:
    """A list that replaces a list loses the null members of its objects, but not its own nulls."""
    assert {"a": [None, {}]} == merge_patch.apply({"a": [1]}, {"a": [None, {"b": None}]})
    assert {"a": [{"b": None}]} == merge_patch.apply({"a": {}}, {"a": [{"b": None}]})


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_object_is_400(patch: Any, expected: str) -> None:
    """A merge patch is an object."""
    with pytest.raises(BadRequest) as refused:
        merge_patch.apply({}, patch)

    assert expected == refused.value.message


@given(OBJECTS, OBJECTS)
def test_the_difference_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    """A patch made of the difference gives the new document, changes neither argument, and then changes nothing."""
    patch = difference(old, new)
    before = copy.deepcopy((old, patch))

    patched = merge_patch.apply(old, patch)

    assert new == patched
    assert before == (old, patch)
    assert patched == merge_patch.apply(patched, patch)
