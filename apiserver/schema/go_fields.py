"""What OpenAPI does not say about Kubernetes' Go structs: field types, omitempty, embedding, enums, defaults.

`data/go-fields.json` lists, for every struct behind a definition, its fields in Go's order as `json-name go-type flags
[embedded structs]`: a type with a star is kept when present (a pointer, or a list for which empty is not absent), `e`
is omitempty, `z` omitzero, `-` neither. It was read from the types.go files of Kubernetes v1.36. `definitions` merges
it into TypeNodes, `openapi` takes the enums.
`defaults` are those the types declare themselves (`+default`), not those of the defaulting functions.
Structs that are not listed (those of other minor versions) are guessed from `required` by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from apiserver.schema.nodes import Omit

_TABLE = Path(__file__).parent / "data" / "go-fields.json"
_OMIT = {"e": Omit.EMPTY, "z": Omit.ZERO, "ez": Omit.ZERO, "-": Omit.NEVER}
_CORE = "io.k8s.api.core.v1"


@dataclass(frozen=True, slots=True)
class GoField:
    """One field of a Go struct."""

    type: str
    is_pointer: bool
    omit: Omit
    embedded: tuple[str, ...]
    default: Any = None


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = orjson.loads(_TABLE.read_bytes())
    return table


def go_fields(struct: str) -> Mapping[str, GoField]:
    """The fields of the struct behind the definition `struct`, by JSON name; empty where it is not listed."""
    defaults = _table()["defaults"].get(struct, {})
    return dict(_parse(line, defaults) for line in _table()["fields"].get(struct, ()))


def _parse(line: str, defaults: Mapping[str, Any]) -> tuple[str, GoField]:
    name, go_type, flags, *embedded = line.split(" ")
    return name, GoField(
        type=go_type.lstrip("*"),
        is_pointer=go_type.startswith("*"),
        omit=_OMIT[flags],
        embedded=tuple(embedded[0].split(".")) if embedded else (),
        default=defaults.get(name),
    )


def enum_of(struct: str, go_type: str) -> Sequence[str]:
    """The allowed values of a field's named string type (`v1.PullPolicy` within core/v1); empty where it is no enum."""
    name = go_type.removeprefix("[]").rpartition(".")[2]
    enums = _table()["enums"]
    values: Sequence[str] = enums.get(f"{struct.rpartition('.')[0]}.{name}") or enums.get(f"{_CORE}.{name}") or ()
    return values
