"""Values as Kubernetes' internal Go structs print in a refusal: every field under its Go name, in Go's order.

`data/internal-types.json` lists the fields of each struct as `GoName json-name type`; a type is that of a plain value,
`null` for what may be absent, `map`, `selector`, or a struct, a pointer to one or a list of them. A struct that has
metadata begins with `metadata`, whose fields keep their JSON names. It was read from the internal types of v1.36.
Some refusals show how two of them differ: `internal_diff`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from apiserver.patch.server_side_apply.path_elements import ESCAPED
from apiserver.resources.checks import NO_FIELDS, go_map, go_selector

Json = Mapping[str, Any]

_TABLE = Path(__file__).parent / "data" / "internal-types.json"
_PLAIN: Json = {"string": "", "bool": False, "int32": 0, "int64": 0, "quantity": "0", "null": None}
_METADATA = "metadata"
# Fields of a v1 pod spec that the internal one keeps in its security context.
_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def as_internal(struct: str, value: Json | None) -> Any:
    """`value` as the internal struct prints; None where there is none."""
    if value is None:
        return None
    if struct == "PodSpec":
        value = _with_namespaces_moved(value)
    printed: dict[str, Any] = {}
    for row in _table()[struct]:
        if row == _METADATA:
            printed |= _metadata(value.get(_METADATA) or NO_FIELDS)
        else:
            go_name, name, kind = row.split(" ")
            printed[go_name] = _field(kind, value.get(name))
    return printed


def internal_diff(struct: str, old: Json, new: Json) -> str:
    """The lines in which the internal struct changed, as upstream puts them behind a refusal (diff.Diff)."""
    differing = difflib.unified_diff(_lines(as_internal(struct, old)), _lines(as_internal(struct, new)))
    return "".join(islice(differing, 2, None))  # without the names of files, which there are none of


def _lines(value: Any) -> Sequence[str]:
    """JSON as Go indents it, each line with its end."""
    text = json.dumps(value, indent=1, ensure_ascii=False).translate(ESCAPED)
    return [f"{line}\n" for line in text.split("\n")]


def _field(kind: str, value: Any) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind] if value is None else value
    if kind == "map":
        return go_map(value)
    if kind == "selector":
        return go_selector(value)
    if kind.startswith("[]"):
        return None if value is None else [as_internal(kind[2:], item) for item in value]
    if kind.startswith("*"):
        return as_internal(kind[1:], value)
    return as_internal(kind, value or NO_FIELDS)


def _metadata(metadata: Json) -> Json:
    """Metadata leaves out what is empty, and its maps are sorted."""
    return {name: go_map(value) if isinstance(value, dict) else value for name, value in metadata.items() if value}


def _with_namespaces_moved(spec: Json) -> Json:
    moved = {name: spec[name] for name in _NAMESPACES if name in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or NO_FIELDS), **moved}}


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    table: Mapping[str, list[str]] = orjson.loads(_TABLE.read_bytes())
    return {struct: tuple(rows) for struct, rows in table.items()}
