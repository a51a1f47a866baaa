"""The OpenAPI v2 document as protobuf: the only form kubectl takes v2 in (`explain --output=plaintext-openapiv2`).

The message types are those of gnostic's openapiv2; each is a table from the document's JSON keys to field numbers.
Keys that are not in a table and begin with `x-` become vendor extensions, whose values gnostic keeps as YAML text
(JSON is YAML). `openapi` calls `encode` once a document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
# The same without the sign that no media type may have: what is answered.
RETURNED_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Encode = Callable[[Any], bytes]


def encode(document: Mapping[str, Any]) -> bytes:
    """The bytes of an openapi.v2.Document."""
    return _DOCUMENT(document)


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a JSON key goes; `encode` makes the bytes of one value of it."""

    number: int
    encode: Encode
    is_repeated: bool = False


class _Message:
    """Encodes JSON objects as one message type."""

    def __init__(self, fields: Mapping[str, _Field], extensions: int = 0) -> None:
        self.fields = dict(fields)
        self._extensions = extensions

    def __call__(self, value: Mapping[str, Any]) -> bytes:
        chunks = []
        for key, item in value.items():
            field = self.fields.get(key)
            if field is not None:
                chunks += [_tagged(field, each) for each in (item if field.is_repeated else (item,))]
            elif self._extensions and key.startswith("x-"):
                chunks.append(_length_delimited(self._extensions, _named(_any)((key, item))))
        return b"".join(chunks)


def _tagged(field: _Field, value: Any) -> bytes:
    if isinstance(value, bool) and field.encode is _bool:
        return _varint(field.number << 3) + _bool(value)
    return _length_delimited(field.number, field.encode(value))


def _length_delimited(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _text(value: str) -> bytes:
    return value.encode()


def _bool(value: bool) -> bytes:
    return _varint(value)


def _any(value: Any) -> bytes:
    return _length_delimited(2, orjson.dumps(value))


def _wrapped(number: int, encode_: Encode) -> Encode:
    """A message that holds only one other: the alternatives of gnostic's oneofs."""
    return lambda value: _length_delimited(number, encode_(value))


def _named(encode_: Encode) -> Callable[[tuple[str, Any]], bytes]:
    """An entry of a map, which gnostic keeps in order as (name, value) messages."""
    return lambda entry: _length_delimited(1, entry[0].encode()) + _length_delimited(2, encode_(entry[1]))


def _map(encode_: Encode, number: int = 1) -> Encode:
    entry = _named(encode_)
    return lambda value: b"".join(_length_delimited(number, entry(item)) for item in value.items())


def _texts(value: list[str]) -> bytes:
    return b"".join(_length_delimited(1, text.encode()) for text in value)


def _additional(value: Any) -> bytes:
    if isinstance(value, bool):
        return _tagged(_Field(2, _bool), value)
    return _length_delimited(1, _SCHEMA(value))


def _parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        parameter = _length_delimited(1, _BODY_PARAMETER(value))
    else:
        in_path = value["in"] == "path"
        alternative = _length_delimited(4 if in_path else 3, (_PATH_PARAMETER if in_path else _QUERY_PARAMETER)(value))
        parameter = _length_delimited(2, alternative)
    return _length_delimited(1, parameter)


_SCHEMA = _Message(
    {
        "$ref": _Field(1, _text),
        "format": _Field(2, _text),
        "title": _Field(3, _text),
        "description": _Field(4, _text),
        "default": _Field(5, _any),
        "pattern": _Field(13, _text),
        "required": _Field(19, _text, is_repeated=True),
        "enum": _Field(20, _any, is_repeated=True),
        "additionalProperties": _Field(21, _additional),
        "type": _Field(22, _wrapped(1, _text)),
    },
    extensions=31,
)
# A schema holds schemas, so these come when it has its name.
_SCHEMA.fields["items"] = _Field(23, _wrapped(1, _SCHEMA))
_SCHEMA.fields["allOf"] = _Field(24, _SCHEMA, is_repeated=True)
_SCHEMA.fields["properties"] = _Field(25, _map(_SCHEMA))

_BODY_PARAMETER = _Message(
    {
        "description": _Field(1, _text),
        "name": _Field(2, _text),
        "in": _Field(3, _text),
        "required": _Field(4, _bool),
        "schema": _Field(5, _SCHEMA),
    }
)
_SIMPLE_PARAMETER = {
    "required": _Field(1, _bool),
    "in": _Field(2, _text),
    "description": _Field(3, _text),
    "name": _Field(4, _text),
}
_QUERY_PARAMETER = _Message({**_SIMPLE_PARAMETER, "type": _Field(6, _text), "uniqueItems": _Field(20, _bool)})
_PATH_PARAMETER = _Message({**_SIMPLE_PARAMETER, "type": _Field(5, _text), "uniqueItems": _Field(19, _bool)})
_RESPONSE = _Message({"description": _Field(1, _text), "schema": _Field(2, _wrapped(1, _SCHEMA))})
_OPERATION = _Message(
    {
        "tags": _Field(1, _text, is_repeated=True),
        "description": _Field(3, _text),
        "operationId": _Field(5, _text),
        "produces": _Field(6, _text, is_repeated=True),
        "consumes": _Field(7, _text, is_repeated=True),
        "parameters": _Field(8, _parameter, is_repeated=True),
        "responses": _Field(9, _map(_wrapped(1, _RESPONSE))),
        "schemes": _Field(10, _text, is_repeated=True),
    },
    extensions=13,
)
_PATH_ITEM = _Message(
    {
        "get": _Field(2, _OPERATION),
        "put": _Field(3, _OPERATION),
        "post": _Field(4, _OPERATION),
        "delete": _Field(5, _OPERATION),
        "patch": _Field(8, _OPERATION),
        "parameters": _Field(9, _parameter, is_repeated=True),
    },
    extensions=10,
)
_API_KEY = _Message(
    {"type": _Field(1, _text), "name": _Field(2, _text), "in": _Field(3, _text), "description": _Field(4, _text)}
)
_DOCUMENT = _Message(
    {
        "swagger": _Field(1, _text),
        "info": _Field(2, _Message({"title": _Field(1, _text), "version": _Field(2, _text)})),
        "paths": _Field(8, _map(_PATH_ITEM, number=2)),
        "definitions": _Field(9, _map(_SCHEMA)),
        "security": _Field(12, _map(_texts), is_repeated=True),
        "securityDefinitions": _Field(13, _map(_wrapped(2, _API_KEY))),
    }
)
