"""PEM: binary data as text between BEGIN and END lines."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = re.compile(
    rb"(?:^|(?<=\n))-----BEGIN (?P<kind>[^\n]*?)-----[ \t\r]*\n"
    rb"(?P<headers>(?:[^\n:]+:[^\n]*\n)*)"
    rb"(?P<data>[A-Za-z0-9+/=\s]*)"
    rb"-----END (?P=kind)-----"
)


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    has_headers: bool
    data: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """Every well-formed block; text between them is passed over."""
    for match in _BLOCK.finditer(text):
        try:
            data = base64.b64decode(b"".join(match["data"].split()), validate=True)
        except binascii.Error:
            continue
        yield Block(match["kind"].decode("utf-8", "replace"), bool(match["headers"]), data)
