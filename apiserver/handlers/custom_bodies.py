"""Bodies of custom resources: what `bodies` does for built-in kinds, by a structural schema instead of Go's types.

Facts: apiextensions-apiserver/pkg/apiserver/customresource_handler.go (v1.36). A body must say what it is; another
apiVersion is refused at once, another kind only where the object is validated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver.handlers.strictness import report
from apiserver.registry.catalog import Kind
from apiserver.registry.options import Warnings
from apiserver.schema.codec import DecodeError
from apiserver.schema.custom_type import CustomType
from apiserver.schema.type_meta import GroupVersionKind, TypeMetaError, cannot_be_handled, sent_kind, unrecognized
from kubeloop.apimachinery.errors import BadRequest, Invalid
from kubeloop.apimachinery.field import FieldError, invalid
from kubeloop.apimachinery.meta import Object

_NO_SCHEMA = {"type": "object"}


def read(
    kind: Kind,
    custom: CustomType,
    value: Any,
    raw: bytes,
    repeated: Sequence[str],
    field_validation: str,
    warnings: Warnings,
) -> Object:
    """The object a POST or PUT carries, with defaults. `repeated` is what strict decoding says of repeated keys."""
    expected = GroupVersionKind(kind.group, kind.resource.version, kind.resource.kind)
    try:
        sent = sent_kind(value, expected)
        if not (isinstance(value, dict) and value.get("kind")):
            raise TypeMetaError(_missing_kind(raw))
    except TypeMetaError as error:
        raise BadRequest(unrecognized(expected.kind, error, raw)) from error
    api_version = value.get("apiVersion") or ""
    try:
        obj = _decoded(kind, custom, value, repeated, field_validation, warnings)
    except DecodeError as error:
        raise BadRequest(cannot_be_handled(sent, expected.kind, str(error))) from error
    if api_version != expected.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({expected.api_version})"
        )
    return _finished(kind, obj)


def decode(
    kind: Kind,
    custom: CustomType,
    value: Any,
    repeated: Sequence[str],
    field_validation: str,
    warnings: Warnings,
    *,
    keeps_nulls: bool = False,
) -> Object:
    """A patched value as an object of `kind`, with defaults. Raises DecodeError, also for unknown fields (Strict)."""
    if not (isinstance(value, dict) and value.get("kind")):
        raise DecodeError(_missing_kind(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))
    return _finished(kind, _decoded(kind, custom, value, repeated, field_validation, warnings, keeps_nulls=keeps_nulls))


def _decoded(
    kind: Kind,
    custom: CustomType,
    value: Object,
    repeated: Sequence[str],
    field_validation: str,
    warnings: Warnings,
    *,
    keeps_nulls: bool = False,
) -> Object:
    if value["kind"] != kind.resource.kind:
        return value  # refused later; what other kinds know is not known here
    if (value.get("apiVersion") or "") != kind.resource.api_version:
        custom = CustomType(_NO_SCHEMA, custom.metadata)
    obj, unknown = custom.coerce(value, keeps_nulls=keeps_nulls)
    problems = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    report(problems, field_validation, warnings)
    return obj


def _finished(kind: Kind, obj: Object) -> Object:
    """Without kind and apiVersion, with defaults. Invalid where it says it is something else."""
    resource = kind.resource
    errors: list[FieldError] = []
    if obj["kind"] != resource.kind:
        errors.append(invalid("kind", obj["kind"], f"must be {resource.kind}"))
    api_version = obj.get("apiVersion") or ""
    if api_version != resource.api_version:
        errors.append(invalid("apiVersion", api_version, f"must be {resource.api_version}"))
    if errors:
        metadata = obj.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        raise Invalid.of(obj["kind"], resource.group, name, errors)
    assert kind.custom is not None
    kind.custom.fill_defaults(obj)
    del obj["kind"], obj["apiVersion"]
    obj.setdefault("metadata", {})
    return obj


def _missing_kind(raw: bytes) -> str:
    return f"Object 'Kind' is missing in '{raw.decode(errors='replace')}'"
