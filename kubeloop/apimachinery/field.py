"""Field errors: what validation says about one field, in the words of k8s.io/apimachinery/pkg/util/validation/field.

A path is a plain string ("spec.containers[0].name", 'metadata.labels[app]'): build it with f-strings or `child`,
`index` and `key`, which spell the three steps as Kubernetes does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# The Go types of a cause's reason, and how each begins its message.
REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
NOT_FOUND = "FieldValueNotFound"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
TYPE_INVALID = "FieldValueTypeInvalid"
INTERNAL = "InternalError"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field. `body` is the message without the path: `Invalid value: 0: must be greater than zero`."""

    reason: str
    field: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def to_cause(self) -> dict[str, str]:
        """The `details.causes` entry."""
        return {"reason": self.reason, "message": self.body, "field": self.field}


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(REQUIRED, field, f"Required value: {detail}" if detail else "Required value")


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(
        INVALID, field, f"Invalid value: {go_value(value)}: {detail}" if detail else f"Invalid value: {go_value(value)}"
    )


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(TYPE_INVALID, field, f"Invalid value: {go_value(value)}: {detail}")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """`Unsupported value: "x": supported values: "A", "B"`; values are listed in the order given."""
    listed = ", ".join(go_value(v) for v in supported)
    return FieldError(
        NOT_SUPPORTED,
        field,
        f"Unsupported value: {go_value(value)}" + (f": supported values: {listed}" if listed else ""),
    )


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(DUPLICATE, field, f"Duplicate value: {go_value(value)}")


def forbidden(field: str, detail: str = "") -> FieldError:
    return FieldError(FORBIDDEN, field, f"Forbidden: {detail}" if detail else "Forbidden")


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(NOT_FOUND, field, f"Not found: {go_value(value)}")


def too_long(field: str, maximum: int) -> FieldError:
    """`Too long: may not be more than 63 bytes` (the value itself is never quoted)."""
    return FieldError(TOO_LONG, field, f"Too long: may not be more than {maximum} bytes")


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    return FieldError(TOO_MANY, field, f"Too many: {actual}: must have at most {maximum} items")


def internal(field: str, detail: str) -> FieldError:
    return FieldError(INTERNAL, field, f"Internal error: {detail}")


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def index(path: str, i: int) -> str:
    return f"{path}[{i}]"


def key(path: str, name: str) -> str:
    return f"{path}[{name}]"


def go_value(value: Any) -> str:
    """A value as Go's field errors print it: strings quoted, null for nothing, objects as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
