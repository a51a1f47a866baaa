"""Whether the parameters of a Content-Type are well-formed, as Go's mime.ParseMediaType takes them.

`application/json; charset=utf-8` is, `application/json;;x` is not: such a body is of an unknown format.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:\\[^\r\n]|[^"\r\n])*"'
_parameter = re.compile(rf"\s*;\s*({_TOKEN})\s*=\s*({_TOKEN}|{_QUOTED})")


@lru_cache(256)
def are_well_formed(content_type: str) -> bool:
    """Of a whole Content-Type. One semicolon too many at the end is none too many."""
    at = content_type.find(";")
    seen: dict[str, str] = {}
    while at >= 0 and content_type[at:].strip() not in ("", ";"):
        found = _parameter.match(content_type, at)
        if found is None or seen.setdefault(found[1].lower(), found[2]) != found[2]:
            return False
        at = found.end()
    return True
