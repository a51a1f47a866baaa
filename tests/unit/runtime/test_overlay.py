"""overlay: what nobody speaks of stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubeloop.runtime.overlay import overlay


@pytest.mark.parametrize(
    ("there", "fields", "expected"),
    [
        ({"a": {"x": 1}, "b": 2}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}, "b": 2}),
        ({"a": {"x": 1}, "b": 2}, {"a": None}, {"b": 2}),
        ({}, {"a": {"x": None, "y": {}}}, {"a": {"y": {}}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "text"}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": [{"name": "x", "d": 1}]}, {"a": []}, {"a": []}),
        # by name, in the new order; who is not named goes
        (
            {"a": [{"name": "x", "d": 1}, {"name": "y", "d": 2}, {"name": "z"}]},
            {"a": [{"name": "y", "v": 5}, {"name": "x"}, {"name": "w"}]},
            {"a": [{"name": "y", "d": 2, "v": 5}, {"name": "x", "d": 1}, {"name": "w"}]},
        ),
        # by place, where names are missing or come twice
        (
            {"a": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP"}]},
            {"a": [{"port": 8080}]},
            {"a": [{"port": 8080, "protocol": "TCP"}]},
        ),
        (
            {"a": [{"name": "x", "at": 1, "d": 1}, {"name": "x", "at": 2, "d": 2}]},
            {"a": [{"name": "x", "at": 1}, {"name": "x", "at": 3}, {"name": "x", "at": 4}]},
            {"a": [{"name": "x", "at": 1, "d": 1}, {"name": "x", "at": 3, "d": 2}, {"name": "x", "at": 4}]},
        ),
    ],
)
def test_what_nobody_speaks_of_stays(there: Any, fields: Any, expected: Any) -> None:
    """Laid over once it has the new fields, and a second time changes nothing."""
    given = copy.deepcopy(fields)
    overlay(there, fields)
    assert expected == there
    overlay(there, fields)
    assert expected == there
    assert given == fields


def test_the_result_shares_nothing_with_the_fields() -> None:
    """Whoever edits the object afterwards does not edit the fields it was shaped with."""
    fields: Any = {"a": {"list": [1]}, "maps": [{"name": "x"}]}
    obj: Any = {}
    overlay(obj, fields)
    obj["a"]["list"].append(2)
    obj["maps"][0]["name"] = "y"
    assert {"a": {"list": [1]}, "maps": [{"name": "x"}]} == fields
