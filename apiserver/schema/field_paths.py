"""Paths to fields as definitions write them: `.spec.color`, `.spec.map['some key']`.

Used for selectable fields and for the fieldPath of rules. Facts: ValidFieldPath of apiextensions-apiserver's
pkg/apiserver/schema/cel (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubeloop.apimachinery import field
from kubeloop.apimachinery.json_schema import Schema, additional_of, properties_of

_TOKEN = re.compile(r"'(?:[^']*\\')*[^']*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}
_NO_FIELD = "does not refer to a valid field"
_ENDS = "unexpected end of JSON path"


class PathError(ValueError):
    """Why a path leads nowhere."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """`names` are the steps, `text` is the path as field errors write it, `schema` what it leads to."""

    names: tuple[str, ...]
    text: str
    schema: Schema | None


def find_field(path: str, schema: Schema, *, brackets: bool = True) -> FieldPath:
    """Follow a path through a schema; raises PathError. `brackets` allows `['name']`."""
    found = FieldPath((), "", schema)
    tokens = _TOKEN.finditer(path)
    for match in tokens:
        match match[0]:
            case ".":
                found = _step(found, _next(tokens))
            case "[" if not brackets:
                raise PathError("array notation is not allowed")
            case "[":
                found = _step(found, _unquoted(_next(tokens)))
                if (end := _next(tokens)) != "]":
                    raise PathError(f"expected ] but got {end}")
            case other:
                raise PathError(f"expected [ or . but got: {other}")
    return found


def _next(tokens: Iterator[re.Match[str]]) -> str:
    match = next(tokens, None)
    if match is None:
        raise PathError(_ENDS)
    return match[0]


def _unquoted(token: str) -> str:
    if len(token) < 2 or not (token.startswith("'") and token.endswith("'")):
        raise PathError(f"expected single quoted string but got {token}")
    for escape in _ESCAPE.finditer(token[1:-1]):
        if escape[1] not in _ESCAPED:
            raise PathError(f"invalid string literal: invalid escape char {escape[0]}")
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], token[1:-1])


def _step(path: FieldPath, name: str) -> FieldPath:
    schema, names = path.schema or {}, (*path.names, name)
    if properties := properties_of(schema):
        if name not in properties:
            raise PathError(_NO_FIELD)
        return FieldPath(names, field.child(path.text, name), properties[name])
    if "additionalProperties" not in schema:
        raise PathError(_NO_FIELD)
    return FieldPath(names, field.key(path.text, name), additional_of(schema))
