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
from kubeloop.apimachinery.depth import is_too_deep, may_be_too_deep
from kubeloop.apimachinery.errors import BadRequest, Invalid, RequestEntityTooLarge
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, deep_copy

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

Operation = Mapping[str, Any]
_POSITION = re.compile(r"[+-]?[0-9]{1,18}")
_ESCAPE = re.compile("~[01]")
_OPERATION = "handlers.jsonPatchOp"
_TEXT_FIELDS = ("op", "path", "from")
_TOO_DEEP = "error while performing deep copy"


class PatchError(Exception):
    """An operation that cannot be carried out; the text is that of Kubernetes' JSON patch library."""


class UnmetTest(PatchError):
    """A test operation that found another value."""


MISSING, INVALID_INDEX, TEST_FAILED = "missing value", "invalid index referenced", "test failed"


def apply(document: Object, patch: Any, *, is_lenient: bool = False) -> Any:
    """`document` after all operations of `patch`; neither is changed.

    `is_lenient`: without field validation the operations' own fields are not looked at before they are carried out.
    BadRequest where the patch is no list of operations, Invalid where one of them cannot be carried out.
    """
    try:
        return carried_out(document, _operations(patch, is_lenient))
    except PatchError:
        raise Invalid.unprocessable() from None


def carried_out(document: Object, operations: Sequence[Operation]) -> Any:
    """`document` after the operations. Raises PatchError."""
    patcher = _Patcher(deep_copy(document))
    for operation in operations:
        patcher.carry_out(operation)
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
            raise PatchError(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        carrier(operation)

    def _add(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "add operation failed to decode path: missing value")
        container, key = self._find(path, f'add operation does not apply: doc is missing path: "{path}": {MISSING}')
        _insert(container, key, deep_copy(operation.get("value")), f"error in add for path: '{path}'")

    def _remove(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "remove operation failed to decode path: missing value")
        container, key = self._find(path, f'remove operation does not apply: doc is missing path: "{path}": {MISSING}')
        _take(container, key, f"error in remove for path: '{path}'")

    def _replace(self, operation: Operation) -> None:
        path, value = _pointer(operation, "path", "replace operation failed to decode path"), operation.get("value")
        value = deep_copy(value)
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchError("replace operation value must be object or array: %!w(<nil>)")
            self.document = value
            return
        container, key = self._find(path, f"replace operation does not apply: doc is missing path: {path}: {MISSING}")
        if isinstance(container, list):
            try:
                container[_position(container, key, "")] = value
            except PatchError:
                why = f"replace operation does not apply: doc is missing key: {path}: {MISSING}"
                raise PatchError(why) from None
        else:
            container[key] = value

    def _move(self, operation: Operation) -> None:
        source = _pointer(operation, "from", "move operation failed to decode from")
        missing = f"move operation does not apply: doc is missing from path: {source}: {MISSING}"
        container, key = self._find(source, missing)
        value = _take(container, key, f"error in move for path: '{key}'")
        path = _pointer(operation, "path", "move operation failed to decode path")
        missing = f"move operation does not apply: doc is missing destination path: {path}: {MISSING}"
        container, key = self._find(path, missing)
        _insert(container, key, value, f"error in move for path: '{path}'")

    def _copy(self, operation: Operation) -> None:
        source = _pointer(operation, "from", "copy operation failed to decode from")
        missing = f"copy operation does not apply: doc is missing from path: {source}: {MISSING}"
        container, key = self._find(source, missing)
        found = _get(container, key, f"error in copy for from: '{source}'")
        try:
            raw = orjson.dumps(found)
        except orjson.JSONEncodeError:  # deeper than it writes
            raise PatchError(_TOO_DEEP) from None
        self._copied_bytes += len(raw)
        if self._copied_bytes > MAX_COPIED_BYTES:
            why = f"the accumulated size increase of copy is {self._copied_bytes}, exceeding the limit"
            raise PatchError(f"Unable to complete the copy, {why} {MAX_COPIED_BYTES}")
        if may_be_too_deep(raw) and is_too_deep(found):  # a copy of a copy of a copy
            raise PatchError(_TOO_DEEP)
        value = orjson.loads(raw)
        path = _pointer(operation, "path", "copy operation failed to decode path: missing value")
        missing = f"copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
        container, key = self._find(path, missing)
        _insert(container, key, value, "error while adding value during copy")

    def _test(self, operation: Operation) -> None:
        path, expected = _pointer(operation, "path", "test operation failed to decode path"), operation.get("value")
        if path == "":
            found = self.document
        else:
            container, key = self._find(path, f"test operation does not apply: is missing path: {path}: {MISSING}")
            found = _get(container, key, f"error in test for path: '{path}'")
        if not is_same(found, expected):
            raise UnmetTest(f"testing value {path} failed: {TEST_FAILED}")

    def _find(self, path: str, missing: str) -> tuple[Any, str]:
        """The object or list that holds what `path` names, and the last step to it."""
        first, *steps = path.split("/")
        del first  # what stands before the first slash does not count
        container = self.document
        for step in steps[:-1]:
            container = _get(container, _unescaped(step), missing)
            if not isinstance(container, dict | list):
                raise PatchError(missing)
        if not steps:
            raise PatchError(missing)
        return container, _unescaped(steps[-1])


def _pointer(operation: Operation, name: str, where: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        told = where if where.endswith(MISSING) else f"{where}: operation missing {name} field: {MISSING}"
        raise PatchError(told)
    return pointer


def _insert(container: Any, key: str, value: Any, where: str) -> None:
    if isinstance(container, list):
        container.insert(_place(container, key, where), value)
    else:
        container[key] = value


def _take(container: Any, key: str, where: str) -> Any:
    if isinstance(container, list):
        return container.pop(_position(container, key, where))
    if key not in container:
        raise PatchError(f"{where}: Unable to remove nonexistent key: {key}: {MISSING}")
    return container.pop(key)


def _get(container: Any, key: str, where: str) -> Any:
    """The value at `key`; an absent key of an object has the value null."""
    return container[_position(container, key, where)] if isinstance(container, list) else container.get(key)


def _position(items: list[Any], key: str, where: str) -> int:
    """The position of an existing item."""
    position = _number(key, f"{where}: strconv.Atoi: parsing {go_quote(key)}: invalid syntax")
    if not -len(items) <= position < len(items):
        raise PatchError(f"{where}: Unable to access invalid index: {position}: {INVALID_INDEX}")
    return position % len(items)


def _place(items: list[Any], key: str, where: str) -> int:
    """The position before which a new item goes; `-` is the end, and so is -1."""
    if key == "-":
        return len(items)
    why = f"value was not a proper array index: '{key}': strconv.Atoi: parsing {go_quote(key)}: invalid syntax"
    position, places = _number(key, f"{where}: {why}"), len(items) + 1
    if not -places <= position < places:
        raise PatchError(f"{where}: Unable to access invalid index: {position}: {INVALID_INDEX}")
    return position % places


def _number(key: str, problem: str) -> int:
    if not _POSITION.fullmatch(key):
        raise PatchError(problem)
    return int(key)


def _unescaped(step: str) -> str:
    return _ESCAPE.sub(lambda match: "/" if match[0] == "~1" else "~", step)
