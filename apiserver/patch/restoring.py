"""What a strategic merge patch or an apply made of an object, held against its types.

The real server reads the result of either not as JSON but from Go maps, with other messages than its JSON decoder
has (k8s.io/apimachinery/pkg/runtime/converter.go, v1.36). What the decoder takes at once is restored as it is; only of
what it refuses `restored` is asked. Quantities, and how times are spelled, are left to the decoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from apiserver.patch.values import go_text, go_type
from apiserver.schema.scalars import base64_text
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import Object, deep_copy

_GO_KINDS = {"map[string]interface {}": "map", "[]interface {}": "slice"}
_LEFT_TO_THE_DECODER = frozenset({"quantity", "any"})
_BITS = {"int32": 32, "uint8": 8}


class Node(Protocol):
    """What is asked of a type."""

    @property
    def type(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def go_type(self) -> str: ...

    @property
    def items(self) -> Node | None: ...

    @property
    def values(self) -> Node | None: ...

    @property
    def fields(self) -> Mapping[str, Node]: ...


def restored(document: Object, patch: Any, node: Node) -> Object:
    """`document`, the result of `patch`, as Go reads it. Raises Invalid for the first value that does not fit its type.

    Whole numbers take the size of their type, as they do in Go: 1.0 becomes 1, and what is too large wraps.
    Fields that the patch does not name are as they were stored, and fit.
    """
    document = deep_copy(document)
    why = _misfit(document, node, patch)
    if why:
        raise invalid_patch(patch, why)
    return document


def converted(document: Object, node: Node) -> tuple[Object, str]:
    """What an apply made, as Go reads it in the same way; and why it cannot, "" where it can."""
    document = deep_copy(document)
    return document, _misfit(document, node, document)


def invalid_patch(patch: Any, why: str) -> Invalid:
    """The 422 that quotes the patch, in Go's way of printing maps."""
    return Invalid.of("", "", "", [field.invalid("patch", go_text(patch), why)])


def _misfit(value: Any, node: Node, patch: Any) -> str:
    """Why `value` does not fit, "" where it does; null fits everywhere. `patch` is what it was made by."""
    if value is None or node.type in _LEFT_TO_THE_DECODER:
        return ""
    if node.type == "object":
        return _object_misfit(value, node, patch)
    if node.type == "map":
        return _map_misfit(value, node, patch)
    if node.type == "list":
        return _list_misfit(value, node)
    return _scalar_misfit(value, node)


def _object_misfit(value: Any, node: Node, patch: Any) -> str:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    named = patch if isinstance(patch, dict) else value
    for name, member in node.fields.items():
        if name in named and name in value:
            if why := _misfit(value[name], member, named[name]):
                return why
            if member.type == "integer":
                value[name] = _sized(value[name], member)
    return ""


def _map_misfit(value: Any, node: Node, patch: Any) -> str:
    if not isinstance(value, dict):
        return f"cannot restore map from {_kind(value)}"
    if node.values is None:
        return ""
    named = patch if isinstance(patch, dict) else value
    misfits = (_misfit(member, node.values, named[name]) for name, member in value.items() if name in named)
    return next(filter(None, misfits), "")


def _list_misfit(value: Any, node: Node) -> str:
    if not isinstance(value, list):
        return f"cannot restore slice from {_kind(value)}"
    if node.items is None:
        return ""
    if why := next(filter(None, (_misfit(item, node.items, item) for item in value)), ""):
        return why
    if node.items.type == "integer":
        value[:] = [_sized(item, node.items) for item in value]
    return ""


def _sized(number: Any, node: Node) -> Any:
    """A whole number as Go converts it to the type."""
    if number is None:
        return None
    bits = _BITS.get(node.format, 64)
    wrapped = int(number) & ((1 << bits) - 1)
    return wrapped if bits == 8 or not wrapped >> (bits - 1) else wrapped - (1 << bits)


def _scalar_misfit(value: Any, node: Node) -> str:
    kind = _kind(value)
    if node.type == "string":
        if kind == "string":
            return ""
        return f"cannot convert int64 to {node.go_type}" if kind == "int64" else "unrecognized type: string"
    if node.type in ("time", "micro-time"):
        return "" if kind == "string" else _unreadable(value, "string")
    if node.type == "int-or-string":
        is_good = kind == "string" or (kind == "int64" and -(1 << 31) <= value < 1 << 31)
        return "" if is_good else _unreadable(value, "int32")
    if node.type == "bytes":
        return _bytes_misfit(value, kind)
    if node.type == "boolean":
        return "" if kind == "bool" else "unrecognized type: bool"
    if node.type == "number":
        return "" if kind in ("int64", "float64") else "unrecognized type: float64"
    if node.type == "integer":
        if kind == "int64" or (kind == "float64" and float(value).is_integer()):
            return ""
        go_kind = node.format or "int64"
        return f"cannot convert float64 to {node.go_type}" if kind == "float64" else f"unrecognized type: {go_kind}"
    return ""


def _bytes_misfit(value: Any, kind: str) -> str:
    if kind != "string":
        return "" if kind == "slice" else f"cannot restore slice from {kind}"
    try:
        base64_text(value)
    except ValueError as error:
        return f"error decoding from json: {error}"
    return ""


def _unreadable(value: Any, go_type: str) -> str:
    """What a type's own UnmarshalJSON says."""
    kind = _kind(value)
    found = {"bool": "bool", "map": "object", "slice": "array", "string": "string"}.get(kind, "number")
    if found == "number" and go_type != "string":
        found = f"number {go_text(value)}"
    return f"json: cannot unmarshal {found} into Go value of type {go_type}"


def _kind(value: Any) -> str:
    """The kind that Go's reflection gives a JSON value."""
    type_ = go_type(value)
    return _GO_KINDS.get(type_, type_)
