"""CEL types of structural schemas, and JSON values as those types have them.

What a schema does not declare is not there for an expression. Field names that CEL cannot spell are escaped. Facts:
k8s.io/apiserver/pkg/cel/common/schemas.go and values.go (v1.36).
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace
from typing import Any

from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    Schema,
    additional_of,
    items_of,
    properties_of,
)
from kubeloop.cel.parser import RESERVED
from kubeloop.cel.times import parse_duration, parse_timestamp
from kubeloop.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Field,
    Type,
    list_of,
    map_of,
    object_of,
)
from kubeloop.cel.values import EvaluationError, MapList, SetList

_TEXT_FORMATS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_TEXT: Schema = {"type": "string"}
_METADATA: Schema = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
_RESERVED = RESERVED | {"true", "false", "null", "in"}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile(r"__|[-./]")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def with_type_and_metadata(schema: Schema) -> Schema:
    """A whole object: kind, apiVersion and the names in its metadata are always declared.

    A schema that declares all of them itself stays as it is; of others, what it says of metadata does not count.
    """
    declared = properties_of(schema)
    names = properties_of(declared.get("metadata") or {})
    own = (declared.get("kind"), declared.get("apiVersion"), names.get("name"), names.get("generateName"))
    if all(part is not None and part.get("type") == "string" for part in own):
        return schema
    known = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": _METADATA}
    return {**schema, "properties": {**properties_of(schema), **known}}


def type_of(schema: Schema | None, *, is_root: bool = False, name: str = "object") -> Type | None:
    """None where expressions cannot see the value."""
    if schema is None:
        return None
    if schema.get(INT_OR_STRING):
        return DYN
    if is_root or schema.get(EMBEDDED):
        schema = with_type_and_metadata(schema)
    match schema.get("type"):
        case "array":
            items = type_of(items_of(schema), name=f"{name}.@idx")
            return None if items is None else _list(schema, items)
        case "object":
            return _object(schema, name)
        case "string":
            return _TEXT_FORMATS.get(schema.get("format", ""), STRING)
        case scalar:
            return _SCALARS.get(scalar or "")


def _list(schema: Schema, items: Type) -> Type:
    keys = tuple(schema.get(LIST_KEYS) or ())
    return replace(list_of(items), list_type=schema.get(LIST_TYPE, ""), list_keys=keys)


def _object(schema: Schema, name: str) -> Type | None:
    additional = additional_of(schema)
    if additional is not None and not properties_of(schema):
        values = type_of(additional, name=f"{name}.@elem")
        return None if values is None else map_of(STRING, values)
    fields: dict[str, Field] = {}
    for key, part in properties_of(schema).items():
        escaped, found = escape(key), type_of(part, name=f"{name}.{key}")
        if escaped and found is not None:
            fields[escaped] = Field(key, found, bool(part.get("nullable")))
    return object_of(name, fields)


def escape(name: str) -> str:
    """The name as expressions write it; "" where they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    escaped = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], name)
    return escaped if _IDENTIFIER.fullmatch(escaped) else ""


def needs_conversion(type_: Type) -> bool:
    """Whether JSON values of the type are not what CEL computes with."""
    if type_ in (DOUBLE, BYTES, DURATION, TIMESTAMP) or type_.list_type in ("set", "map"):
        return True
    if type_.fields is not None and any(field.is_nullable for field in type_.fields.values()):
        return True
    parts = (field.type for field in type_.fields.values()) if type_.fields is not None else type_.parameters
    return any(needs_conversion(part) for part in parts)


def converted(value: Any, type_: Type) -> Any:
    """A JSON value as CEL computes with it: numbers as doubles, times and durations as such."""
    if value is None:
        return None
    if isinstance(value, dict) and type_.fields is not None:
        known = {field.key: field.type for field in type_.fields.values()}
        return {
            key: converted(part, known[key]) if key in known else part
            for key, part in value.items()
            if part is not None  # a field that is null is not there
        }
    if isinstance(value, dict) and type_.name == "map":
        return {key: converted(part, type_.parameters[1]) for key, part in value.items()}
    if isinstance(value, list) and type_.name == "list":
        elements = [converted(element, type_.parameters[0]) for element in value]
        if type_.list_type == "map":
            return MapList(elements, type_.list_keys)
        return SetList(elements) if type_.list_type == "set" else elements
    if type_ == DOUBLE and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _from_text(value, type_) if isinstance(value, str) else value


def _from_text(value: str, type_: Type) -> Any:
    if type_ == DURATION:
        return parse_duration(value)
    if type_ == TIMESTAMP:
        return parse_timestamp(value if "T" in value.upper() else f"{value}T00:00:00Z")
    if type_ == BYTES:
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise EvaluationError(str(error)) from error
    return value
