"""Headers on their way through this server: those that concern one connection only end at it (RFC 9110, 7.6.1)."""

from __future__ import annotations

from collections.abc import Iterable

RawHeaders = list[tuple[bytes, bytes]]

_ONE_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """All but those, and but what the header Connection names; names in lower case."""
    named = [(name.lower(), value) for name, value in headers]
    options = {option.strip().lower() for name, value in named if name == b"connection" for option in value.split(b",")}
    return [(name, value) for name, value in named if name not in _ONE_HOP and name not in options]
