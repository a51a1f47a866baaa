"""Regular expressions that come with requests, as Go reads them: RE2, so that no pattern can hold the server up.

Called for a schema's `pattern` and by CEL. What Go refuses is refused in its words; the library's own words, and the
one escape that only it knows (`\\C`), are translated here. One difference is left: the library calls an expression too
large at 8 MiB, Go at 128 (`\\pL{1000}` is between the two). Patterns of this project stay on Python's `re`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
}
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)


class PatternError(ValueError):
    """Go's `error parsing regexp: …`."""


class Pattern:
    """A compiled expression; it takes time linear in the text."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        return self._compiled.search(_well_formed(text).encode()) is not None

    def find(self, text: str) -> str | None:
        """The leftmost match."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[str]:
        """Matches that do not overlap; an empty one right behind another does not count."""
        last_end = -1
        for match in self._compiled.finditer(_well_formed(text)):
            start, end = match.span()
            if start < end or start != last_end:
                yield match[0]
            last_end = end


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Pattern:
    """The compiled expression; PatternError where Go would not compile it."""
    import re2  # only a server that is given a pattern has to load it

    options = re2.Options()
    options.log_errors = False
    pattern = _well_formed(pattern)
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"error parsing regexp: {_reason(error.args[0].decode(), pattern)}") from error
    if any(escape[1] == "C" for escape in _ESCAPE.finditer(pattern)):  # a single byte, which Go does not know
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    return Pattern(compiled)


def _reason(message: str, pattern: str) -> str:
    if message == "trailing \\":
        return "trailing backslash at end of expression: ``"
    if message.startswith("pattern too large"):
        return f"expression too large: `{pattern}`"
    what, _, where = message.partition(": ")
    return f"{_GO_WORDS.get(what, what)}: `{where}`"


def _well_formed(text: str) -> str:
    """Go's text is UTF-8, where half a surrogate pair is an unknown character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
