"""How large the values of a structural schema can get: from its own bounds, or from what fits into one request.

Facts: k8s.io/apiserver/pkg/cel/common/schemas.go, .../cel/limits.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    INT_OR_STRING,
    Schema,
    additional_of,
    items_of,
    properties_of,
)
from kubeloop.cel.schema_types import escape, with_type_and_metadata

MAX_REQUEST_BYTES = 3 * 1024 * 1024
_LONGEST_TEXT = MAX_REQUEST_BYTES - 2  # without its quotes
# Of texts in a format: the least they take as JSON, and the most.
_FORMATS = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
_SCALARS = {"boolean": 4, "number": 1, "integer": 1}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of one place in a schema: how many elements or characters at most, and how many bytes at least as JSON."""

    most_elements: int
    least_bytes: int
    fields: Mapping[str, Sizes] = field(default_factory=dict)  # by the name expressions use
    key: Sizes | None = None
    element: Sizes | None = None

    @property
    def most_times(self) -> int:
        """How often such a value can stand in one request."""
        return MAX_REQUEST_BYTES // (self.least_bytes + 1)


_KEY = Sizes(0, 2)


def sizes_of(schema: Schema | None, *, is_root: bool = False) -> Sizes | None:
    """None where expressions cannot see the value."""
    if schema is None:
        return None
    if schema.get(INT_OR_STRING):
        return Sizes(_text_bound(schema, _LONGEST_TEXT), 1)
    if is_root or schema.get(EMBEDDED):
        schema = with_type_and_metadata(schema)
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            return _map(schema) if additional_of(schema) is not None else _object(schema)
        case "string":
            return _text(schema)
        case scalar:
            least = _SCALARS.get(scalar or "")
            return None if least is None else Sizes(0, least)


def _list(schema: Schema) -> Sizes | None:
    element = sizes_of(items_of(schema))
    if element is None:
        return None
    return Sizes(_bound(schema, "maxItems", _LONGEST_TEXT // (element.least_bytes + 1)), 2, element=element)


def _map(schema: Schema) -> Sizes | None:
    element = sizes_of(additional_of(schema))
    if element is None:
        return None
    bound = _bound(schema, "maxProperties", _LONGEST_TEXT // (element.least_bytes + 6))
    return Sizes(bound, 2, key=_KEY, element=element)


def _object(schema: Schema) -> Sizes:
    """It takes at least what its required fields do, unless the server fills them in."""
    required, least, fields = set(schema.get("required") or ()), 2, {}
    for name, part in properties_of(schema).items():
        sizes = sizes_of(part)
        if sizes is None:
            continue
        if escaped := escape(name):
            fields[escaped] = sizes
        if name in required and part.get("default") is None:
            least += len(name.encode()) + sizes.least_bytes + 4
    return Sizes(0, least, fields)


def _text(schema: Schema) -> Sizes:
    form = schema.get("format", "")
    if form == "byte":
        return Sizes(_bound(schema, "maxLength", _LONGEST_TEXT), 2)
    if form in _FORMATS:
        least, most = _FORMATS[form]
        return Sizes(most, least)
    choices = schema.get("enum") or ()
    longest = max((len(choice.encode()) for choice in choices if isinstance(choice, str)), default=0)
    return Sizes(_text_bound(schema, longest if choices else _LONGEST_TEXT), 2)


def _text_bound(schema: Schema, otherwise: int) -> int:
    """maxLength counts characters, each of up to four bytes."""
    return 4 * _bound(schema, "maxLength", 0) if schema.get("maxLength") is not None else otherwise


def _bound(schema: Schema, name: str, otherwise: int) -> int:
    bound = schema.get(name)
    return otherwise if bound is None else max(int(bound), 0)
