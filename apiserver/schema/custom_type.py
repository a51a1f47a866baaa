"""The type of one version of a custom kind: what the Go types are to a built-in one.

Made by `registry.custom` from a CustomResourceDefinition, carried by its Kind; the handlers decode bodies with it, the
strategy of custom kinds validates with it. A structural schema takes the place of Go's types here, and only metadata
is decoded as Go would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from apiserver.schema.codec import Codec
from apiserver.schema.defaulting import fill_defaults, has_defaults
from apiserver.schema.embedded import coerce_embedded, embedded_errors, has_embedded
from apiserver.schema.list_types import has_unique_lists, uniqueness_errors
from apiserver.schema.nodes import TypeNode
from apiserver.schema.old_values import UNKNOWN
from apiserver.schema.pruning import drop_nulls, pruned
from apiserver.schema.structural import custom_resource_node
from apiserver.schema.structural_validation import check_value
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.json_schema import Schema

Object = dict[str, Any]

ANY_FIELDS: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True)
class CustomType:
    """Objects are whole ones here: with kind, apiVersion and metadata."""

    schema: Schema
    metadata: Codec = field(repr=False, compare=False)
    preserves_unknown_fields: bool = False

    def coerce(self, obj: Object, *, keeps_nulls: bool = False) -> tuple[Object, list[str]]:
        """A copy as this version has it, and the paths of what it does not know, sorted. Raises DecodeError.

        `keeps_nulls`: an apply made it, whose nulls are left to validation where a type may refuse them.
        """
        unknown: list[str] = []
        if self.preserves_unknown_fields:
            result = pruned(obj, ANY_FIELDS)
        else:
            result = pruned(obj, self.schema, is_object=True, unknown=unknown)
            drop_nulls(result, self._schema_of_fields, of_typed=not keeps_nulls)
        from_metadata = self._coerce_metadata(result)
        embedded: list[str] = []
        if self._has_embedded:
            coerce_embedded(result, self.schema, self.metadata, embedded)
        return result, [*from_metadata, *sorted(unknown), *sorted(embedded)]

    def fill_defaults(self, obj: Object) -> None:
        if self._has_defaults:
            fill_defaults(obj, self.schema)

    def errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What the schema has against an object, not counting rules in CEL."""
        found: list[FieldError] = []
        check_value(obj, self.schema, "", found, UNKNOWN if old is None else old)
        if self._has_embedded:
            found += embedded_errors(obj, self.schema)
        return found + self.uniqueness_errors(obj, old)

    def status_errors(self, obj: Object, old: Object) -> list[FieldError]:
        """The same of an object whose status alone is new."""
        found: list[FieldError] = []
        schema = (self.schema.get("properties") or {}).get("status")
        if schema is not None and "status" in obj:
            check_value(obj["status"], schema, "status", found, old.get("status", UNKNOWN))
        return found + self.uniqueness_errors(obj, old)

    def uniqueness_errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """What is wrong already may stay so."""
        if not self._has_unique_lists:
            return []
        found = list(uniqueness_errors(obj, self.schema))
        return [] if found and old is not None and any(uniqueness_errors(old, self.schema)) else found

    @cached_property
    def node(self) -> TypeNode:
        """The type as server-side apply walks it."""
        return custom_resource_node(self.schema, self.metadata.node)

    def _coerce_metadata(self, obj: Object) -> list[str]:
        if "metadata" not in obj:
            return []
        decoded = self.metadata.decode(obj["metadata"])
        obj["metadata"] = decoded.object if decoded.object is not None else {}
        return [f"metadata.{name}" for name in decoded.unknown]

    @cached_property
    def _has_defaults(self) -> bool:
        return has_defaults(self.schema)

    @cached_property
    def _has_embedded(self) -> bool:
        return has_embedded(self.schema)

    @cached_property
    def _has_unique_lists(self) -> bool:
        return has_unique_lists(self.schema)

    @cached_property
    def _schema_of_fields(self) -> Schema:
        """Without what it says of metadata, which is decoded apart."""
        properties: Mapping[str, Schema] = self.schema.get("properties") or {}
        return {**self.schema, "properties": {k: v for k, v in properties.items() if k != "metadata"}}
