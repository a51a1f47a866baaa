"""The fieldPath of a rule: `.spec.map['some key']`, as it is written in a definition and as errors print it."""

from __future__ import annotations

import re

from apiserver.schema.json_schema import Schema, additional_of, properties_of
from kubeloop.apimachinery import field

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The path leads nowhere."""


def normalized_path(path: str, schema: Schema) -> str:
    """The path in the form of field errors. Raises FieldPathError."""
    shown, rest = "", path.strip()
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise FieldPathError(path)
        name = step[1] if step[1] is not None else _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], ""), step[2])
        additional = additional_of(schema)
        if name in properties_of(schema):
            schema, shown = properties_of(schema)[name], field.child(shown, name)
        elif not properties_of(schema) and additional is not None:
            schema, shown = additional, field.key(shown, name)
        else:
            raise FieldPathError(path)
        rest = rest[step.end() :]
    return shown
