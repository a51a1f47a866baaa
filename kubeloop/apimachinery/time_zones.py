"""Names of time zones, as Go's time.LoadLocation takes them."""

from __future__ import annotations

import zoneinfo
from functools import lru_cache

ALWAYS_KNOWN = frozenset(("", "UTC", "Local"))


@lru_cache(maxsize=64)
def time_zone_error(name: str) -> str:
    """Why there is no such time zone, in Go's words; "" where there is."""
    if name in ALWAYS_KNOWN:
        return ""
    if ".." in name or name[0] in "/\\":
        return "time: invalid location name"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {name}"
    return ""
