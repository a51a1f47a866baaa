"""Scalars that Go's API types read from JSON strings: quantities, times, base64.

Each function returns the spelling a real server would answer with and raises ValueError in Go's words. The codec and
`explanation` call them.
"""

from __future__ import annotations

import base64
import binascii
import re

from apiserver.schema.go_time import MICRO_TIME_LAYOUT, RFC3339, parse
from kubeloop.apimachinery.quantity import canonical
from kubeloop.apimachinery.times import format_micro_time, format_time

# Texts that are written as they are read. The 29th of February is left to the parser, which knows leap years.
_DATE = r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_SECOND = rf"{_DATE}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_PLAIN_TIME = re.compile(rf"{_SECOND}Z", re.ASCII)
_PLAIN_MICRO_TIME = re.compile(rf"{_SECOND}\.\d{{6}}Z", re.ASCII)
_ZERO_TIME = "0001-01-01T00:00:00Z"

quantity_text = canonical


def time_text(text: str) -> str | None:
    """A metav1.Time: UTC, whole seconds; None for Go's zero time."""
    if not _PLAIN_TIME.fullmatch(text):
        text = format_time(parse(RFC3339, text)).rjust(20, "0")
    return None if text == _ZERO_TIME else text


def micro_time_text(text: str) -> str | None:
    """A metav1.MicroTime: UTC, exactly six digits of a second."""
    if not _PLAIN_MICRO_TIME.fullmatch(text):
        text = format_micro_time(parse(MICRO_TIME_LAYOUT, text)).rjust(27, "0")
    return None if text == "0001-01-01T00:00:00.000000Z" else text


def base64_text(text: str) -> str:
    """Standard base64 with padding; line breaks within are read over."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        text = text.replace("\n", "").replace("\r", "") if _first_corrupt_byte(text) is None else text
        if (position := _first_corrupt_byte(text)) is not None:
            raise ValueError(f"illegal base64 data at input byte {position}") from None
        decoded = base64.b64decode(text)
    return base64.b64encode(decoded).decode()


def _first_corrupt_byte(text: str) -> int | None:
    """Where Go's encoding/base64 stops reading, None where it reads all of it."""
    data = text.encode()
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    position = filled = 0  # `filled`: characters of the current group of four
    while position < len(data):
        byte = data[position]
        position += 1
        if byte in b"\r\n":
            continue
        if byte in alphabet:
            filled = (filled + 1) % 4
            continue
        if byte != ord("=") or filled < 2:
            return position - 1
        return _corrupt_padding(data, position, filled)
    return position - filled if filled else None


def _corrupt_padding(data: bytes, position: int, filled: int) -> int | None:
    """The same from behind the first `=` on."""
    position = _behind_line_breaks(data, position)
    if filled == 2:  # a second = must follow
        if position == len(data):
            return len(data)
        if data[position] != ord("="):
            return position - 1
        position = _behind_line_breaks(data, position + 1)
    return position if position < len(data) else None


def _behind_line_breaks(data: bytes, position: int) -> int:
    while position < len(data) and data[position] in b"\r\n":
        position += 1
    return position
