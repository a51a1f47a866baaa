"""Values at paths into objects, with the complaints of apimachinery's unstructured helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.patch.values import go_text, go_type
from kubeloop.apimachinery.meta import Object


class AccessorError(ValueError):
    """Something at the path is of another type."""


def value_at(value: Any, path: Sequence[str]) -> Any:
    """The value at a path of field names, None where there is none."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def nested_integer(obj: Object, path: Sequence[str]) -> int | None:
    """None where the path leads nowhere; AccessorError where it leads through or to something else."""
    found, value = _nested(obj, path)
    if found and (not isinstance(value, int) or isinstance(value, bool)):
        raise _error(path, value, "int64")
    return value if found else None


def nested_text(obj: Object, path: Sequence[str]) -> str | None:
    """The same of a string."""
    found, value = _nested(obj, path)
    if found and not isinstance(value, str):
        raise _error(path, value, "string")
    return value if found else None


def dotted(path: Sequence[str]) -> str:
    return "." + ".".join(path)


def _nested(obj: Object, path: Sequence[str]) -> tuple[bool, Any]:
    """Whether something is there, be it null, and what."""
    value: Any = obj
    for i, step in enumerate(path):
        if value is None:
            return False, None
        if not isinstance(value, dict):
            raise _error(path[: i + 1], value, "map[string]interface{}")
        if step not in value:
            return False, None
        value = value[step]
    return True, value


def _error(path: Sequence[str], value: Any, wanted: str) -> AccessorError:
    shown = f"{go_text(value)} is of the type {go_type(value)}"
    return AccessorError(f"{dotted(path)} accessor error: {shown}, expected {wanted}")
