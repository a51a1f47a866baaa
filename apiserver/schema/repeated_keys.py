"""What Go makes of an object that names a key twice: the second value is decoded on top of the first.

Structs and maps grow together, list elements too, and only scalars are simply replaced. The codec asks for it in the
rare case that a body repeats a key; everything else is parsed with the last value winning.
"""

from __future__ import annotations

from typing import Any

from apiserver.schema.json_text import Pairs
from apiserver.schema.nodes import TypeNode

_NIL_WHEN_NULL = frozenset({"list", "map", "any", "bytes"})


def merged(value: Any, node: TypeNode | None, earlier: Any = None) -> Any:
    """`value`, parsed with its Pairs, as one tree of dicts; `earlier` is what the same field already holds."""
    if node is None:
        return _plain(value)
    if isinstance(value, Pairs):
        if node.type not in ("object", "map"):
            return _plain(value)
        return _merged_object(value, node, earlier)
    if isinstance(value, list):
        before = earlier if isinstance(earlier, list) else []
        return [merged(item, node.items, before[i] if i < len(before) else None) for i, item in enumerate(value)]
    if value is None and not node.is_pointer and node.type not in _NIL_WHEN_NULL:
        return earlier
    return value


def _merged_object(pairs: Pairs, node: TypeNode, earlier: Any) -> dict[str, Any]:
    held = dict(earlier) if isinstance(earlier, dict) else {}
    for key, item in pairs:
        # A map's entry is decoded afresh; only a struct's field is decoded on top of what it holds.
        before = held.get(key) if key in node.fields else None
        held[key] = merged(item, node.field(key), before)
    return held


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {key: _plain(item) for key, item in value}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
