"""Field errors: what validation says about one field, in the words of k8s.io/apimachinery/pkg/util/validation/field.

A path is a plain string ("spec.containers[0].name", 'metadata.labels[app]'): build it with f-strings or `child`,
`index` and `key`, which spell the three steps as Kubernetes does.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
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
TOO_FEW = "FieldValueTooFew"
TOO_SHORT = "FieldValueTooShort"
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
    return FieldError(TOO_LONG, field, f"Too long: may not be more than {_counted(maximum, 'byte')}")


def too_short(field: str, minimum: int) -> FieldError:
    return FieldError(TOO_SHORT, field, f"Too short: must be at least {_counted(minimum, 'byte')}")


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    return FieldError(TOO_MANY, field, f"Too many: {actual}: must have at most {_counted(maximum, 'item')}")


def too_few(field: str, actual: int, minimum: int) -> FieldError:
    return FieldError(TOO_FEW, field, f"Too few: {actual}: must have at least {_counted(minimum, 'item')}")


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
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def go_float(value: float) -> str:
    """A float as Go's %v: the shortest text that reads back the same, an exponent below 1e-4 and from 1e6 on."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    mantissa, exponent = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>2}"


def go_quote(text: str) -> str:
    """A string as Go's %q writes it."""
    if text.isascii() and text.isprintable() and not _QUOTED.search(text):
        return f'"{text}"'
    return '"' + "".join(_go_character(character) for character in text) + '"'


_HTML = re.compile("[<>&\u2028\u2029]")  # encoding/json writes these as escapes
_QUOTED = re.compile(r'["\\]')
GO_ESCAPES = {
    '"': r"\"",
    "\\": r"\\",
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}


def _go_character(character: str) -> str:
    if escape := GO_ESCAPES.get(character):
        return escape
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
