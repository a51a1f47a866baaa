"""How deep lists and objects may lie within each other in bodies, patches and what patches make.

One limit for all of them, so that whatever is stored can be copied, compared, wrapped into lists and tables and
written again by code that recurses. Go allows 10,000 levels; the difference is told in docs/compatibility.md.
"""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 200  # the JSON writer gives up at 254, and lists, tables and managedFields wrap objects a few times


def may_be_too_deep(raw: bytes) -> bool:
    """Whether a JSON text has the brackets for too much nesting; false for most texts, and quickly told."""
    return raw.count(b"[") + raw.count(b"{") > MAX_DEPTH


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value nests deeper than MAX_DEPTH. Level by level, for recursion might not survive it."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, dict | list)
        ]
    return bool(level)
