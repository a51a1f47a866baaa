"""The columns of custom kinds, from `additionalPrinterColumns` of their definition.

The part that serves custom resources calls `custom_columns` for each version when a definition changes. Facts:
apiextensions-apiserver/pkg/registry/customresource/tableconvertor (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.printing.cells import CUSTOM_COLUMNS, NAME
from apiserver.printing.durations import INVALID, UNKNOWN, since
from apiserver.printing.json_path import Path, PathError, compile_path
from apiserver.printing.table import Cell, Column
from kubeloop.apimachinery.field import go_value
from kubeloop.apimachinery.json_schema import with_sorted_keys
from kubeloop.apimachinery.meta import ReadOnlyObject


def custom_columns(definitions: Sequence[Mapping[str, Any]] | None) -> tuple[Column, ...]:
    """Name and the defined columns; name and age where none are defined. Stops before a path nobody understands."""
    if not definitions:
        return CUSTOM_COLUMNS
    columns = [NAME]
    for definition in definitions:
        try:
            columns.append(_column(definition))
        except PathError:
            break
    return tuple(columns)


def _column(definition: Mapping[str, Any]) -> Column:
    kind, path = definition.get("type", ""), definition.get("jsonPath", "")
    return Column(
        definition.get("name", ""),
        kind,
        _cell(kind, compile_path(path)),
        format=definition.get("format", ""),
        priority=definition.get("priority", 0),
        description=definition.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
    )


def _cell(kind: str, path: Path) -> Cell:
    def cell(obj: ReadOnlyObject, now: datetime) -> Any:
        try:
            found = path.find(obj)
        except PathError:
            return None
        return _shown(kind, found[0], now) if found else None

    return cell


def _shown(kind: str, value: Any, now: datetime) -> Any:
    """The value as its column's type; null where it is of another."""
    match kind:
        case "string":
            return _text(value)
        case "integer":
            return int(value) if _is_number(value) else None
        case "number":
            return _json_number(value) if _is_number(value) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value, now) if isinstance(value, str) else None
        case _:
            return None


def _age(value: str, now: datetime) -> str:
    if value in ("", "null"):
        return UNKNOWN
    try:
        return since(value, now)
    except ValueError:
        return INVALID


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json_number(value: float) -> int | float:
    """A whole number is written without a fraction, as Go writes it; larger ones the JSON writer takes as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def _text(value: Any) -> str:
    """A value in words: maps and lists as JSON, the rest as Go prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return go_value(with_sorted_keys(value))
    return value if isinstance(value, str) else go_value(value)
