"""What a server says beside its answer: deprecated kinds, fields that it does not know and drops."""

from __future__ import annotations

import re

import structlog

log = structlog.get_logger(__name__)

_MAX_TEXTS = 1000
_QUOTED = re.compile(r'^299 \S+ "((?:[^"\\]|\\.)*)"')


class WarningLog:
    """Called with the values of Warning headers; logs each text once. After 1,000 texts it begins anew."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, header: str) -> None:
        text = text_of(header)
        if not text or text in self._told:
            return
        if len(self._told) >= _MAX_TEXTS:
            self._told.clear()
        self._told.add(text)
        log.warning("the server warns", text=text)


def text_of(header: str) -> str:
    """`299 - "text"`; "" for what is none of a Kubernetes API server."""
    found = _QUOTED.match(header)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else ""
