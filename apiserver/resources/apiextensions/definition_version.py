"""The parts of one version of a custom kind: schema, subresources, columns and selectable fields.

Upstream keeps what all versions have alike in one place of its own, and names that place in its errors:
`spec.validation` instead of `spec.versions[0].schema`. `Parts` does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.resources.apiextensions.default_values import check_defaults
from apiserver.resources.apiextensions.internal_schema import internal_schema, is_zero
from apiserver.resources.apiextensions.rules import check_rules
from apiserver.resources.apiextensions.schema_rules import check_schema
from apiserver.resources.apiextensions.structural import check_structural, unsupported_field
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_required
from apiserver.resources.comparison import same
from apiserver.schema.field_paths import PathError, find_field
from kubeloop.apimachinery import field
from kubeloop.apimachinery.json_schema import Schema
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_TYPES = ("string", "boolean", "integer")
MAX_SELECTABLE_FIELDS = 8
# What a root schema may say where the status is validated apart from the rest, under Go's names.
ROOT_FIELDS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
NOT_AT_ROOT = (
    "id",
    "$schema",
    "$ref",
    "nullable",
    "default",
    "enum",
    "maxProperties",
    "minProperties",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Those of one version, or those all versions share. `is_unchanged`: the version's schema is stored already."""

    schema: Json | None = None
    subresources: Json | None = None
    columns: Sequence[Json] = ()
    selectable: Sequence[Json] = ()
    is_unchanged: bool = False

    @classmethod
    def of(cls, holder: Json, is_unchanged: bool) -> Parts:
        return cls(
            holder.get("schema"),
            holder.get("subresources"),
            holder.get("additionalPrinterColumns") or NO_ITEMS,
            holder.get("selectableFields") or NO_ITEMS,
            is_unchanged,
        )


def split_shared(versions: Sequence[Json]) -> tuple[Object, list[Object]]:
    """What all versions have alike, and the versions without it."""
    if not versions:
        return {}, []
    alike = [name for name in SHARED if all(same(v.get(name), versions[0].get(name)) for v in versions)]
    shared = {name: versions[0][name] for name in alike if name in versions[0]}
    return shared, [{k: v for k, v in version.items() if k not in alike} for version in versions]


def check_parts(parts: Parts, has_status: bool, path: str, schema_at: str, errors: Errors) -> None:
    """`schema_at` is the name of the schema's holder below `path`."""
    at = f"{path}.{schema_at}.openAPIV3Schema"
    schema = (parts.schema or NO_FIELDS).get("openAPIV3Schema")
    if schema is not None:
        _check_whole_schema(schema, has_status, at, errors, is_unchanged=parts.is_unchanged)
    _check_subresources(parts.subresources or NO_FIELDS, f"{path}.subresources", errors)
    for i, column in enumerate(parts.columns):
        _check_column(column, f"{path}.additionalPrinterColumns[{i}]", errors)
    if parts.selectable:
        _check_selectable(parts.selectable, schema, path, schema_at, errors)


def _check_whole_schema(schema: Schema, has_status: bool, path: str, errors: Errors, *, is_unchanged: bool) -> None:
    before = len(errors)
    if has_status:
        _check_root(schema, path, errors)
    if schema.get("nullable"):
        errors.append(field.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    unsupported = unsupported_field(schema)
    if not unsupported:
        structural: Errors = []
        check_structural(schema, path, structural)
        if not structural:
            check_defaults(schema, path, structural)
        errors.extend(structural)
    check_schema(schema, path, errors)
    if len(errors) == before and not unsupported:
        check_rules(schema, path, errors, is_unchanged=is_unchanged)
    if unsupported and len(errors) == before:
        errors.append(field.invalid(path, "", unsupported))


def _check_root(schema: Schema, path: str, errors: Errors) -> None:
    if schema.get("type", "object") != "object":
        reason = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        errors.append(field.invalid(f"{path}.type", schema["type"], reason))
    elif any(not is_zero(name, schema.get(name)) for name in NOT_AT_ROOT):
        reason = (
            f"only [{ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled"
        )
        errors.append(field.invalid(path, internal_schema(schema), reason))


def _check_subresources(subresources: Json, path: str, errors: Errors) -> None:
    scale = subresources.get("scale")
    if scale is None:
        return
    for name, parents, where in (
        ("specReplicasPath", (".spec.",), "under .spec"),
        ("statusReplicasPath", (".status.",), "under .status"),
        ("labelSelectorPath", (".spec.", ".status."), "under either .spec or .status"),
    ):
        value, at = scale.get(name, ""), f"{path}.scale.{name}"
        if not value:
            if name != "labelSelectorPath":
                errors.append(field.required(at))
        elif check_simple_path(value, at, errors) and not value.startswith(parents):
            errors.append(field.invalid(at, value, f"should be a json path {where}"))


def check_simple_path(path_value: str, path: str, errors: Errors) -> bool:
    """The little that is asked of a simple JSON path; whether it was fine."""
    if path_value.startswith("."):
        return True
    errors.append(field.invalid(path, path_value, "must be a simple json path starting with ."))
    return False


def _check_column(column: Json, path: str, errors: Errors) -> None:
    kind, form, json_path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    check_required(column.get("name"), f"{path}.name", errors)
    allowed = f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        errors.append(field.required(f"{path}.type", allowed))
    elif kind not in COLUMN_TYPES:
        errors.append(field.invalid(f"{path}.type", kind, allowed))
    if form and form not in COLUMN_FORMATS:
        errors.append(field.invalid(f"{path}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}"))
    if not json_path:
        errors.append(field.required(f"{path}.JSONPath"))
    else:
        check_simple_path(json_path, f"{path}.JSONPath", errors)


def _check_selectable(
    selectable: Sequence[Json], schema: Schema | None, path: str, schema_at: str, errors: Errors
) -> None:
    path = f"{path}.selectableFields"
    if schema is None:
        reason = "may only be set when `version.schema.openAPIV3Schema` is not included"
        if schema_at == "validation":
            reason = "may only be set when validations.schema is included"
        errors.append(field.invalid(path, "", reason))
        return
    seen: set[str] = set()
    for i, entry in enumerate(selectable):
        value, at = entry.get("jsonPath", ""), f"{path}[{i}].jsonPath"
        if not value:
            errors.append(field.required(at))
            continue
        try:
            found = find_field(value, schema, brackets=False)
        except PathError as error:
            errors.append(field.invalid(at, value, f"is an invalid path: {error}"))
            continue
        if found.names[0] == "metadata":
            errors.append(field.invalid(at, value, "must not point to fields in metadata"))
        if (found.schema or NO_FIELDS).get("type") not in SELECTABLE_TYPES:
            reason = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            errors.append(field.invalid(at, value, reason))
        if found.text in seen:
            errors.append(field.duplicate(at, value))
        seen.add(found.text)
    if len(seen) > MAX_SELECTABLE_FIELDS:
        errors.append(field.too_many(path, len(seen), MAX_SELECTABLE_FIELDS))
