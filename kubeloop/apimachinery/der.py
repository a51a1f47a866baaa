"""DER, the binary form of certificates and requests for them: just enough to read a structure of known shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

INTEGER, BIT_STRING, OCTET_STRING, OBJECT_IDENTIFIER, SEQUENCE, SET = 0x02, 0x03, 0x04, 0x06, 0x30, 0x31
UTC_TIME, GENERALIZED_TIME = 0x17, 0x18


class DerError(ValueError):
    """The bytes are no DER, or none of the shape that was asked for."""


@dataclass(frozen=True, slots=True)
class Element:
    """One value: its tag, its content, and the bytes of both."""

    tag: int
    content: bytes
    encoded: bytes

    def children(self) -> list[Element]:
        return list(_elements(self.content))

    def expect(self, tag: int) -> Element:
        if self.tag != tag:
            raise DerError(f"asn1: structure error: tags don't match ({tag & 0x1F} vs {self.tag & 0x1F})")
        return self


def parse(data: bytes) -> Element:
    """The one element that `data` is."""
    element, rest = _split(data)
    if rest:
        raise DerError("asn1: syntax error: trailing data")
    return element


def object_identifier(element: Element) -> str:
    """`1.2.840.113549.1.1.11`."""
    numbers: list[int] = []
    value = 0
    for byte in element.expect(OBJECT_IDENTIFIER).content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    if not numbers:
        raise DerError("asn1: syntax error: zero length OBJECT IDENTIFIER")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def moment(element: Element) -> datetime:
    """A time of either kind, as certificates write them: `260102030405Z`, `20500102030405Z`."""
    text = element.content.decode("ascii", "replace")
    try:
        if element.tag == UTC_TIME:
            century = "20" if text[:2] < "50" else "19"
            return datetime.strptime(f"{century}{text}", "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
        element.expect(GENERALIZED_TIME)
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise DerError("x509: malformed time") from error


def _elements(data: bytes) -> Iterator[Element]:
    while data:
        element, data = _split(data)
        yield element


def _split(data: bytes) -> tuple[Element, bytes]:
    """The first element, and what follows it. Long forms of tags do not occur in what is read here."""
    if len(data) < 2:
        raise DerError("asn1: syntax error: data truncated")
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if len(data) < start + length:
        raise DerError("asn1: syntax error: data truncated")
    return Element(data[0], data[start : start + length], data[: start + length]), data[start + length :]
