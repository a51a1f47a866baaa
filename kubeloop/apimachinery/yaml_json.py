"""JSON among the texts that are to be YAML: read as JSON, in a fraction of the time, where YAML reads it alike.

`yaml_text` asks here first. Clients send the bodies of apply patches as JSON, and a large definition would otherwise
keep the server busy for a second. What YAML might see differently is left to it: control characters and line ends of
Unicode, tabs between tokens, surrogates, keys that are too long for it, numbers beyond 64 bits.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from kubeloop.apimachinery.depth import is_too_deep, may_be_too_deep

_LONGEST_INTEGER = 18  # characters; these fit into 64 bits whatever they are
_LONGEST_KEY = 500  # characters, escaped ones counted as one: YAML wants the colon within 1024, and on the same line

# Each part looks at a character once (hence the possessive quantifiers): texts come from whoever sends a request.
_READ_DIFFERENTLY = re.compile(
    "[\t\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"  # not printable, or a line end, to YAML
    r"|\\/|\\u(?:[dD][89a-fA-F]|0000)"
    r'|" *+[\r\n]\s*+:|" {20,}+:'
    rf'|(?<!\\)"(?:[^"\\]|\\.){{{_LONGEST_KEY},}}+"\s*+:'
)


class JsonText(NamedTuple):
    value: dict[str, Any]
    has_repeated_keys: bool


def read_json(raw: bytes) -> JsonText | None:
    """The JSON object that a text is, with numbers as YAML has them; None where it must be read as YAML."""
    if not raw.startswith(b"{"):
        return None
    repeated = False

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        made = dict(pairs)
        repeated = repeated or len(made) < len(pairs)
        return made

    try:
        text = raw.decode()
        if _READ_DIFFERENTLY.search(text):
            return None
        value = json.loads(
            text, object_pairs_hook=mapping, parse_int=_integer, parse_float=_number, parse_constant=_integer
        )
    except (ValueError, RecursionError):
        return None
    if may_be_too_deep(raw) and is_too_deep(value):
        return None
    return JsonText(value, repeated)


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError("too long to be sure that it fits")
    return int(text)


def _number(text: str) -> int | float:
    """1.0 and 1e3 are whole numbers to YAML; ValueError for what no float holds."""
    number = float(text)
    if math.isinf(number):
        raise ValueError("too large")
    if not number.is_integer():
        return number
    whole = int(number)
    return whole if -(1 << 63) <= whole < 1 << 64 else number
