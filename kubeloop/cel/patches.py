"""What mutating expressions make: objects by their field paths (`Object.spec{…}`) and operations of a JSON patch.

Facts: k8s.io/apiserver/pkg/cel/mutation (v1.36). Any field of an Object may be named; whether a type's name is the path
at which it stands is found out only where the value is used (`misnamed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeloop.apimachinery.field import go_quote
from kubeloop.cel.functions import Library, function, library
from kubeloop.cel.types import DYN, STRING, Type
from kubeloop.cel.values import EvaluationError, StructValue

OBJECT, JSON_PATCH = Type("Object"), Type("JSONPatch")
_OPERATION_FIELDS = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


def is_patch_struct(name: str) -> bool:
    return name in (OBJECT.name, JSON_PATCH.name) or name.startswith(f"{OBJECT.name}.")


def patch_field(type_name: str, name: str) -> Type | None:
    """The type of a field of one of these types, None where it has no such field."""
    return _OPERATION_FIELDS.get(name) if type_name == JSON_PATCH.name else DYN


def misnamed(made: Any) -> Iterator[str]:
    """What is wrong with the names of types within an object, which are those of its own and the path to them."""
    if isinstance(made, StructValue):
        yield from _misnamed(made, made.type_name)


def _misnamed(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, StructValue):
        if value.type_name != path:
            named = f"unexpected type name {go_quote(value.type_name)}, expected {go_quote(path)}"
            yield f"{named}, which matches field name path from root Object type"
        for name in sorted(value):
            yield from _misnamed(value[name], f"{path}.{name}")
    elif isinstance(value, list):
        for element in value:
            yield from _misnamed(element, path)
    elif isinstance(value, Mapping):
        for element in value.values():
            yield from _misnamed(element, path)


def as_json(value: Any) -> Any:
    """A value of an expression as JSON: whole doubles as integers, as Go writes them."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            key = next(key for key in value if not isinstance(key, str))
            raise EvaluationError(f"map key {key} is not string")
        return {key: as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, str | bool | float):
        return value
    raise EvaluationError("evaluated to a type that could not marshal to JSON")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


PATCHES: Library = library(function("jsonpatch.escapeKey", _escaped, "(string) string"))
