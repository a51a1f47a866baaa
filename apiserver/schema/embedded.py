"""Objects within custom resources (`x-kubernetes-embedded-resource`): their kind, apiVersion and metadata.

`coerce` runs where bodies are decoded, `embedded_errors` where objects are validated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.schema.codec import Codec
from apiserver.schema.explanation import DecodeError
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.field import FieldError, go_value
from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    Schema,
    additional_of,
    all_within,
    items_of,
    properties_of,
    with_sorted_keys,
)
from kubeloop.apimachinery.metadata_validation import object_meta_errors


def has_embedded(schema: Schema) -> bool:
    return any(part.get(EMBEDDED) for part in all_within(schema))


def coerce_embedded(value: Any, schema: Schema, metadata: Codec, unknown: list[str], path: str = "") -> None:
    """Bring the metadata of embedded objects, in place, into the form ObjectMeta has; raises DecodeError."""
    for part, at in _embedded(value, schema, path):
        for name in ("apiVersion", "kind"):
            if name in part and not isinstance(part[name], str):
                shown = go_value(with_sorted_keys(part[name]))
                raise DecodeError(f"{field.child(at, name)}: Invalid value: {shown}: must be a string")
        if "metadata" not in part:
            continue
        try:
            decoded = metadata.decode(part["metadata"])
        except DecodeError as error:
            below = field.child(at, "metadata")
            raise DecodeError(
                f"{below}: Invalid value: {go_value(with_sorted_keys(part['metadata']))}: {error}"
            ) from error
        unknown += [f"{field.child(at, 'metadata')}.{name}" for name in decoded.unknown]
        part["metadata"] = {k: v for k, v in decoded.object.items() if not (k == "creationTimestamp" and v is None)}


def embedded_errors(value: Any, schema: Schema, at: str = "") -> Iterator[FieldError]:
    """What is wrong with embedded objects; those that lack a metadata are fine."""
    for part, path in _embedded(value, schema, at):
        for name in ("apiVersion", "kind"):
            if name not in part:
                yield field.required(field.child(path, name))
        if "apiVersion" in part:
            yield from _api_version_errors(part["apiVersion"], field.child(path, "apiVersion"))
        if "kind" in part:
            yield from _kind_errors(part["kind"], field.child(path, "kind"))
        if isinstance(metadata := part.get("metadata"), dict):
            named = {**metadata, "name": metadata.get("name") or "fakename"}
            yield from object_meta_errors(
                named,
                field.child(path, "metadata"),
                namespaced=bool(metadata.get("namespace")),
                name_errors=validation.path_segment_errors,
            )


def _embedded(value: Any, schema: Schema, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every embedded object and where it stands, outer ones first."""
    if isinstance(value, dict):
        if schema.get(EMBEDDED):
            yield value, path
        properties, additional = properties_of(schema), additional_of(schema)
        for name, part in value.items():
            if name in properties:
                yield from _embedded(part, properties[name], field.child(path, name))
            elif additional is not None:
                yield from _embedded(part, additional, field.key(path, name))
    elif isinstance(value, list) and (items := items_of(schema)) is not None:
        for i, element in enumerate(value):
            yield from _embedded(element, items, field.index(path, i))


def _api_version_errors(value: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield field.invalid(path, with_sorted_keys(value), "must be a string")
    elif not value:
        yield field.invalid(path, value, "must not be empty")
    elif value.count("/") > 1:
        yield field.invalid(path, value, f"unexpected GroupVersion string: {value}")


def _kind_errors(value: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield field.invalid(path, with_sorted_keys(value), "must be a string")
    elif not value:
        yield field.invalid(path, value, "must not be empty")
    elif reasons := validation.dns1035_label_errors(value.lower()):
        yield field.invalid(path, value, f"may have mixed case, but should otherwise match: {','.join(reasons)}")
