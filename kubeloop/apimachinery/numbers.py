"""Numbers in texts, read as Go's strconv reads them: ASCII digits only, of a bounded size, refused in its words."""

from __future__ import annotations

from kubeloop.apimachinery.field import go_quote

# More digits than any 64-bit number has; leading zeros beyond that are not worth Python's time with long texts.
_MAX_DIGITS = 40


class NumError(ValueError):
    """Not such a number; the message is strconv's."""


def parse_uint(text: str) -> int:
    """As strconv.ParseUint(text, 10, 64)."""
    return _parsed("ParseUint", text, text, 0, 2**64)


def parse_int(text: str) -> int:
    """As strconv.ParseInt(text, 10, 64): a sign may stand in front."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    return _parsed("ParseInt", text, text[len(sign) :], -(2**63), 2**63, negative=sign == "-")


def _parsed(function: str, text: str, digits: str, lowest: int, beyond: int, negative: bool = False) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise NumError(f"strconv.{function}: parsing {go_quote(text)}: invalid syntax")
    significant = digits if len(digits) < _MAX_DIGITS else digits.lstrip("0") or "0"
    number = int(significant) if len(significant) < _MAX_DIGITS else 1 << 99  # beyond both
    number = -number if negative else number
    if not lowest <= number < beyond:
        raise NumError(f"strconv.{function}: parsing {go_quote(text)}: value out of range")
    return number
