"""Values at paths into objects."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.registry.nested import AccessorError, nested_integer, nested_text


@pytest.mark.parametrize("obj", [{}, {"spec": None}, {"spec": {}}])
def test_what_is_not_there(obj: dict[str, Any]) -> None:
    """A path may end early, also at null."""
    assert nested_integer(obj, ("spec", "n")) is None
    assert nested_text(obj, ("spec", "n")) is None


@pytest.mark.parametrize(
    ("obj", "complaint"),
    [
        ({"spec": "x"}, ".spec.n accessor error: x is of the type string, expected map[string]interface{}"),
        ({"spec": {"n": None}}, ".spec.n accessor error: <nil> is of the type <nil>, expected int64"),
        ({"spec": {"n": True}}, ".spec.n accessor error: true is of the type bool, expected int64"),
        (
            {"spec": {"n": {"b": [1], "a": "x"}}},
            ".spec.n accessor error: map[a:x b:[1]] is of the type map[string]interface {}, expected int64",
        ),
    ],
)
def test_what_is_of_another_type(obj: dict[str, Any], complaint: str) -> None:
    """It is shown as Go prints it."""
    with pytest.raises(AccessorError) as error:
        nested_integer(obj, ("spec", "n"))

    assert complaint == str(error.value)
