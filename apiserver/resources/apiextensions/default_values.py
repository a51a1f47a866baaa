"""The defaults in a schema: each fits the schema it stands in."""

from __future__ import annotations

from apiserver.resources.checks import Errors
from apiserver.schema.json_schema import EMBEDDED, META_FIELDS, Schema, items_of, properties_of
from apiserver.schema.pruning import pruned
from apiserver.schema.structural_validation import check_value
from kubeloop.apimachinery import field


def check_defaults(schema: Schema, path: str, errors: Errors, *, is_root: bool = True, is_meta: bool = False) -> None:
    """Defaults under additionalProperties and inside metadata are forbidden or checked elsewhere."""
    is_object = is_root or bool(schema.get(EMBEDDED))
    if (default := schema.get("default")) is not None and not is_meta:
        at = f"{path}.default"
        if pruned(default, schema, is_object=bool(schema.get(EMBEDDED))) != default:
            errors.append(field.invalid(at, default, "must not have unknown fields"))
        if schema.get(EMBEDDED):
            _check_embedded(default, at, errors)
        check_value(default, schema, at, errors)
    if (items := items_of(schema)) is not None:
        check_defaults(items, f"{path}.items", errors, is_root=False, is_meta=is_meta)
    for name, part in properties_of(schema).items():
        inside_meta = (is_meta and not schema.get(EMBEDDED)) or (is_object and name in META_FIELDS)
        check_defaults(part, f"{path}.properties[{name}]", errors, is_root=False, is_meta=inside_meta)


def _check_embedded(default: object, path: str, errors: Errors) -> None:
    """An object within an object says what it is."""
    if isinstance(default, dict):
        errors.extend(field.required(f"{path}.{name}") for name in ("apiVersion", "kind") if name not in default)
