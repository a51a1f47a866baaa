"""What a strategic merge patch made of an object, held against its types.

The real server reads the result of such a patch not as JSON but from Go maps, with other messages than its JSON decoder
has (k8s.io/apimachinery/pkg/runtime/converter.go, v1.36). The store calls `check` before it decodes the result, and
`invalid_patch` for what the decoder then still finds. Quantities, times and numbers-or-text it leaves to the decoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from apiserver.patch.values import go_text, go_type
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import Object

_GO_KINDS = {"map[string]interface {}": "map", "[]interface {}": "slice"}
_LEFT_TO_THE_DECODER = frozenset({"quantity", "int-or-string", "time", "micro-time", "bytes", "any"})


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


def check(document: Object, patch: Any, node: Node) -> None:
    """Raise Invalid for the first value of `document`, the result of `patch`, that does not fit its type."""
    why = _misfit(document, node)
    if why:
        raise invalid_patch(patch, why)


def invalid_patch(patch: Any, why: str) -> Invalid:
    """The 422 that quotes the patch, in Go's way of printing maps."""
    return Invalid.of("", "", "", [field.invalid("patch", go_text(patch), why)])


def _misfit(value: Any, node: Node) -> str:
    """Why `value` does not fit, "" where it does; null fits everywhere."""
    if value is None or node.type in _LEFT_TO_THE_DECODER:
        return ""
    if node.type == "object":
        return _object_misfit(value, node)
    if node.type == "map":
        return _map_misfit(value, node)
    if node.type == "list":
        return _list_misfit(value, node)
    return _scalar_misfit(value, node)


def _object_misfit(value: Any, node: Node) -> str:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    misfits = (_misfit(value[name], member) for name, member in node.fields.items() if name in value)
    return next(filter(None, misfits), "")


def _map_misfit(value: Any, node: Node) -> str:
    if not isinstance(value, dict):
        return f"cannot restore map from {_kind(value)}"
    if node.values is None:
        return ""
    misfits = (_misfit(member, node.values) for member in value.values())
    return next(filter(None, misfits), "")


def _list_misfit(value: Any, node: Node) -> str:
    if not isinstance(value, list):
        return f"cannot restore slice from {_kind(value)}"
    if node.items is None:
        return ""
    misfits = (_misfit(item, node.items) for item in value)
    return next(filter(None, misfits), "")


def _scalar_misfit(value: Any, node: Node) -> str:
    kind = _kind(value)
    if node.type == "string":
        if kind == "string":
            return ""
        return f"cannot convert int64 to {node.go_type}" if kind == "int64" else "unrecognized type: string"
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


def _kind(value: Any) -> str:
    """The kind that Go's reflection gives a JSON value."""
    type_ = go_type(value)
    return _GO_KINDS.get(type_, type_)
