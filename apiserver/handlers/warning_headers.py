"""Warnings as `Warning` headers: how they are quoted, which are left out, and how much of them there may be.

Facts: k8s.io/apiserver/pkg/endpoints/filters/warning.go, NewWarningHeader in apimachinery/pkg/util/net (v1.36).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

# Together they may have so many characters; where they have more, each is cut to this length.
MAX_CHARACTERS = 4 * 1024
MAX_CUT_CHARACTERS = 256

Header = tuple[bytes, bytes]


def warning_headers(texts: Sequence[str]) -> Iterable[Header]:
    """A header for each text, in order. What has control characters would end the header, or worse: it is left out."""
    if not texts:
        return ()
    fitting = [text for text in texts if text and not _has_controls(text)]
    if sum(map(len, fitting)) > MAX_CHARACTERS:
        fitting = list(_cut(fitting))
    return [_header(text) for text in fitting]


def _cut(texts: Sequence[str]) -> Iterator[str]:
    """All up to the one that was too much, cut; and of those after it as many as still fit."""
    total = written = 0
    for text in texts:
        if total > MAX_CHARACTERS and written >= MAX_CHARACTERS:
            return
        total += len(text)
        written += min(len(text), MAX_CUT_CHARACTERS)
        yield text[:MAX_CUT_CHARACTERS]


def _has_controls(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(character) == "Cc" for character in text)


def _header(text: str) -> Header:
    """`Warning: 299 - "text"`, as RFC 7234 has it."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return b"warning", f'299 - "{quoted}"'.encode("utf-8", "replace")
