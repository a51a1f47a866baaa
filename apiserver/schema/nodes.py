"""TypeNode: what Kubernetes' API types say about one value, as a tree one can walk by field name.

Patches read merge keys and patch strategies from it, server-side apply reads list types and keys, and the codec reads
the Go facts (`go_type`, `omit`, `embedded`) that decide what JSON a real server would answer. Nodes come from the
OpenAPI definitions (`apiserver.schema.definitions`) or from the structural schema of a custom resource
(`apiserver.schema.structural`). The tree is infinite in places (JSONSchemaProps holds itself), so an object's fields
are made on first use and shared by every node of the same definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

Fields = Mapping[str, "TypeNode"]

SCALARS = frozenset(
    {"string", "integer", "number", "boolean", "quantity", "int-or-string", "time", "micro-time", "bytes"}
)


class Omit(Enum):
    """When Go's encoding/json leaves a field out."""

    EMPTY = "omitempty"  # false, 0, "", a nil pointer, an empty list or map; never a struct
    ZERO = "omitzero"  # any zero value, structs too
    NEVER = "always written"


@dataclass(frozen=True, slots=True)
class TypeNode:
    """The type of one value.

    `type` is one of object (known fields), map, list, string, integer, number, boolean, quantity, int-or-string, time,
    micro-time, bytes (base64 text), any (JSON kept as it is), schema-or-bool, schema-or-list, schema-or-strings.
    """

    type: str
    name: str = ""  # the definition it comes from, "io.k8s.api.core.v1.Container"; "" for a type written in place
    format: str = ""  # int32, int64, double, …
    items: TypeNode | None = None
    values: TypeNode | None = None
    merge_key: str = ""
    patch_strategies: tuple[str, ...] = ()  # merge, replace, retainKeys
    list_type: str = ""  # atomic, set, map; "" where nothing is said, which means atomic
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""  # atomic, granular; "" means granular
    required: tuple[str, ...] = ()
    default: Any = None  # what a missing list-map key means (protocol: TCP); None where the type declares no default
    preserves_unknown_fields: bool = False  # a custom resource's x-kubernetes-preserve-unknown-fields
    nullable: bool = False  # a custom resource's `nullable`: an explicit null is kept
    go_type: str = ""  # as Go's reflection prints it, without a leading star: v1.PodSpec, []string, map[string]string
    is_pointer: bool = False  # in Go: kept when present, even if zero
    omit: Omit = Omit.EMPTY
    embedded: tuple[str, ...] = ()  # names of the embedded Go structs the field stands in
    _source: Callable[[], Fields] | None = field(default=None, repr=False, compare=False)

    @property
    def fields(self) -> Fields:
        """The known fields of an object; empty for every other type."""
        return self._source() if self._source is not None else {}

    def field(self, name: str) -> TypeNode | None:
        """The node of the field `name`, or of any key of a map; None where the type knows no such field."""
        if self.values is not None:
            return self.fields.get(name) or self.values
        return self.fields.get(name)

    @property
    def is_atomic(self) -> bool:
        """Whether server-side apply owns this value as a whole: scalars, atomic maps, lists without a key."""
        if self.type == "list":
            return self.list_type in ("", "atomic")
        if self.type in ("object", "map"):
            return self.map_type == "atomic"
        return True

    @property
    def is_go_value(self) -> bool:
        """Whether Go holds this field as a struct by value, which omitempty never leaves out."""
        return not self.is_pointer and self.type in ("object", "quantity", "int-or-string", "time", "micro-time", "any")

    def with_marks(self, **marks: object) -> TypeNode:
        """The same type with other marks: a field that refers to a definition may carry its own."""
        return replace(self, **marks)  # type: ignore[arg-type]
