"""Columns of custom kinds."""

from typing import Any

import pytest

from apiserver.printing.custom import custom_columns
from apiserver.printing.table import table
from kubeloop.apimachinery.times import parse_time

NOW = parse_time("2026-01-02T00:00:00Z")


def cell(kind: str, value: Any) -> Any:
    columns = custom_columns([{"name": "X", "type": kind, "jsonPath": ".spec.x"}])
    made = table(columns, [{"metadata": {"name": "a"}, "spec": {"x": value}}], {}, NOW)
    return made["rows"][0]["cells"][1]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", 3, 3),
        ("integer", 3.9, 3),
        ("integer", "3", None),
        ("integer", True, None),
        ("number", 1.5, 1.5),
        ("number", 2.0, 2),
        ("boolean", True, True),
        ("boolean", "yes", None),
        ("string", "s", "s"),
        ("string", 3, "3"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", 12345678.5, "1.23456785e+07"),
        ("string", ["<a>"], '["\\u003ca\\u003e"]'),
        ("string", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ("date", "2026-01-01T23:59:00Z", "60s"),
        ("date", "x", "<invalid>"),
        ("date", 3, None),
    ],
)
def test_a_cell_is_of_its_columns_type(kind: str, value: Any, expected: Any) -> None:
    """What is of another type is null, except that text takes all."""
    assert (type(expected), expected) == (type(cell(kind, value)), cell(kind, value))


def test_columns_come_from_the_definition() -> None:
    """Name first; priority, format and description are kept; a missing value is null."""
    definitions = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how large"},
        {"name": "Names", "type": "string", "jsonPath": ".spec.items[*].name", "priority": 1, "format": "name"},
    ]

    made = table(custom_columns(definitions), [{"metadata": {"name": "a"}}], {}, NOW)

    expected = [
        ("Name", "string", "name", 0, ""),
        ("Size", "integer", "", 0, "how large"),
        ("Names", "string", "name", 1, "Custom resource definition column (in JSONPath format): .spec.items[*].name"),
    ]
    fields = ("name", "type", "format", "priority", "description")
    assert expected == [tuple(one[field] for field in fields) for one in made["columnDefinitions"]]
    assert ["a", None, None] == made["rows"][0]["cells"]


@pytest.mark.parametrize("definitions", [None, []])
def test_without_columns_age_is_shown(definitions: Any) -> None:
    """As a date column with a human value."""
    created = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    made = table(custom_columns(definitions), [created], {}, NOW)

    assert ["Age", "date"] == [made["columnDefinitions"][1][field] for field in ("name", "type")]
    assert ["a", "24h"] == made["rows"][0]["cells"]


def test_a_broken_path_ends_the_columns() -> None:
    """Those before it are shown."""
    definitions = [
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "string", "jsonPath": "#"},
        {"name": "C", "type": "string", "jsonPath": ".c"},
    ]

    assert ["Name", "A"] == [column.name for column in custom_columns(definitions)]
