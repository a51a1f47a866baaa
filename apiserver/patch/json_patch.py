"""JSON patch (RFC 6902), `application/json-patch+json`: a list of operations, of which all or none take effect.

Called by the store with the object as the API shows it. As the real server does it (evanphx/json-patch v4), which
differs from the RFC: `replace`, `test` and `copy` treat an absent key of an object as one whose value is null, and list
positions may be negative, counting from the end. Whatever goes wrong while applying is answered with one message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from apiserver.patch.values import is_same
from apiserver.schema.depth import is_too_deep
from kubeloop.apimachinery.errors import BadRequest, Invalid, RequestEntityTooLarge
from kubeloop.apimachinery.meta import Object, deep_copy

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

Operation = Mapping[str, Any]
_POSITION = re.compile(r"[+-]?[0-9]{1,18}")
_ESCAPE = re.compile("~[01]")
_OPERATION = "handlers.jsonPatchOp"
_TEXT_FIELDS = ("op", "path", "from")


class _Inapplicable(Exception):
    """An operation that cannot be carried out."""


def apply(document: Object, patch: Any, *, is_lenient: bool = False) -> Any:
    """`document` after all operations of `patch`; neither is changed.

    `is_lenient`: without field validation the operations' own fields are not looked at before they are carried out.
    BadRequest where the patch is no list of operations, Invalid where one of them cannot be carried out.
    """
    operations = _operations(patch, is_lenient)
    patcher = _Patcher(deep_copy(document))
    try:
        for operation in operations:
            patcher.carry_out(operation)
    except _Inapplicable:
        raise Invalid.unprocessable() from None
    return patcher.document


def _operations(patch: Any, is_lenient: bool) -> Sequence[Operation]:
    """The patch, its shape checked as the server decodes it."""
    if patch is None:
        return ()
    where = "" if is_lenient else "error decoding patch: "
    if not isinstance(patch, list):
        raise _wrong_type(where, patch, f"Go value of type {'jsonpatch.Patch' if is_lenient else '[]' + _OPERATION}")
    for operation in patch:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise _wrong_type(
                where, operation, f"Go value of type {'jsonpatch.Operation' if is_lenient else _OPERATION}"
            )
        for name in () if is_lenient else _TEXT_FIELDS:
            if not isinstance(operation.get(name, ""), str | None):
                raise _wrong_type(where, operation[name], f"Go struct field jsonPatchOp.{name} of type string")
    if len(patch) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        )
    return [operation or {} for operation in patch]


def _wrong_type(where: str, value: Any, wanted: str) -> BadRequest:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "object"), (list, "array"))
    found = next((name for type_, name in names if isinstance(value, type_)), "number")
    return BadRequest(f"{where}json: cannot unmarshal {found} into {wanted}")


class _Patcher:
    """The document while it is being patched."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied_bytes = 0
        self._carriers: dict[str, Callable[[Operation], None]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def carry_out(self, operation: Operation) -> None:
        name = operation.get("op")
        carrier = self._carriers.get(name) if isinstance(name, str) else None
        if carrier is None:
            raise _Inapplicable
        carrier(operation)

    def _add(self, operation: Operation) -> None:
        self._insert(_pointer(operation, "path"), deep_copy(operation.get("value")))

    def _remove(self, operation: Operation) -> None:
        self._take(_pointer(operation, "path"))

    def _replace(self, operation: Operation) -> None:
        path, value = _pointer(operation, "path"), deep_copy(operation.get("value"))
        if path == "":
            self.document = value if isinstance(value, dict | list) else self.document
            return
        container, key = self._find(path)
        _get(container, key)
        if isinstance(container, list):
            container[_position(container, key)] = value
        else:
            container[key] = value

    def _move(self, operation: Operation) -> None:
        source = _pointer(operation, "from")
        value = self._take(source)
        self._insert(_pointer(operation, "path"), value)

    def _copy(self, operation: Operation) -> None:
        container, key = self._find(_pointer(operation, "from"))
        found = _get(container, key)
        if is_too_deep(found):  # a copy of a copy of a copy
            raise _Inapplicable
        value = deep_copy(found)
        self._copied_bytes += len(orjson.dumps(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise _Inapplicable
        self._insert(_pointer(operation, "path"), value)

    def _test(self, operation: Operation) -> None:
        path, expected = _pointer(operation, "path"), operation.get("value")
        if path == "":
            found = self.document
        else:
            container, key = self._find(path)
            found = _get(container, key)
        if not is_same(found, expected):
            raise _Inapplicable

    def _insert(self, path: str, value: Any) -> None:
        container, key = self._find(path)
        if isinstance(container, list):
            container.insert(_place(container, key), value)
        else:
            container[key] = value

    def _take(self, path: str) -> Any:
        container, key = self._find(path)
        if isinstance(container, list):
            return container.pop(_position(container, key))
        if key not in container:
            raise _Inapplicable
        return container.pop(key)

    def _find(self, path: str) -> tuple[Any, str]:
        """The object or list that holds what `path` names, and the last step to it."""
        first, *steps = path.split("/")
        if not steps:
            raise _Inapplicable
        del first  # what stands before the first slash does not count
        container = self.document
        for step in steps[:-1]:
            container = _get(container, _unescaped(step))
            if not isinstance(container, dict | list):
                raise _Inapplicable
        return container, _unescaped(steps[-1])


def _pointer(operation: Operation, name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise _Inapplicable
    return pointer


def _get(container: Any, key: str) -> Any:
    """The value at `key`; an absent key of an object has the value null."""
    return container[_position(container, key)] if isinstance(container, list) else container.get(key)


def _position(items: list[Any], key: str) -> int:
    """The position of an existing item."""
    position = _number(key)
    if not -len(items) <= position < len(items):
        raise _Inapplicable
    return position % len(items)


def _place(items: list[Any], key: str) -> int:
    """The position before which a new item goes; `-` is the end, and so is -1."""
    if key == "-":
        return len(items)
    position, places = _number(key), len(items) + 1
    if not -places <= position < places:
        raise _Inapplicable
    return position % places


def _number(key: str) -> int:
    if not _POSITION.fullmatch(key):
        raise _Inapplicable
    return int(key)


def _unescaped(step: str) -> str:
    return _ESCAPE.sub(lambda match: "/" if match[0] == "~1" else "~", step)
