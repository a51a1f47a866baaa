"""Values against a structural schema, in the words of kube-openapi's validator.

Custom resources are checked with it on every write, and so are the defaults a CustomResourceDefinition brings. On an
update what did not change is let be, however wrong (ratcheting): schemas may become stricter. Rules in CEL are not
looked at here. Facts: kube-openapi/pkg/validation/validate and apiextensions-apiserver/pkg/apiserver/validation.

Every check answers how much of the schema it applied to the value, as upstream counts it: where no part of an anyOf
or oneOf fits, the part that applied most says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.schema.number_validation import check_number, is_whole
from apiserver.schema.old_values import UNKNOWN, old_elements, old_field, unchanged
from kubeloop.apimachinery import field, go_regexp
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.formats import effective_format, is_of_format
from kubeloop.apimachinery.json_schema import (
    INT_OR_STRING,
    Schema,
    additional_of,
    items_of,
    properties_of,
    with_sorted_keys,
)

_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
_GO_FORMATS = {"integer": "int64", "number": "float64"}
_TYPE_META = ("kind", "apiVersion")

Errors = list[FieldError]


def check_value(value: Any, schema: Schema, path: str, errors: Errors, old: Any = UNKNOWN) -> None:
    """`path` is where the value stands; messages name it relative to that, so it is empty in them at the top.

    `old` is what stood there before, for an update.
    """
    found: Errors = []
    _check(value, schema, path, "", old, found)
    # The same is said once, whichever parts of the schema say it.
    errors.extend({str(error): error for error in found}.values())


def type_name(value: Any) -> str:
    return _TYPES.get(type(value), "object")


def _check(value: Any, schema: Schema, base: str, name: str, old: Any, errors: Errors) -> int:
    """All errors of a value and what is in it; none where it is what it was."""
    before = len(errors)
    matches = _check_all(value, schema, base, name, old, errors)
    if len(errors) > before and old is not UNKNOWN and unchanged(old, value, schema):
        del errors[before:]
    return matches


def _check_all(value: Any, schema: Schema, base: str, name: str, old: Any, errors: Errors) -> int:
    at = path_of(base, name)
    if value is None:
        return _check_null(schema, at, name, errors)
    found = type_name(value)
    matches = 4 + _check_type(value, found, schema, at, name, errors)
    matches += _check_junctors(value, schema, base, name, old, errors)
    if found == "string":
        matches += _check_text(value, schema, at, name, errors)
    elif found in ("integer", "number"):
        check_number(value, _only_type(schema), schema, base, at, name, errors)
        matches += 2
    elif found == "array":
        matches += 2 + _check_list(value, schema, base, at, name, old, errors)
    _check_enum(value, schema, at, errors)
    if found == "object":
        matches += 1 + _check_object(value, schema, base, at, name, old, errors)
    return matches


def path_of(base: str, name: str) -> str:
    """Where a field error stands; "<nil>" is Go's word for nowhere."""
    name = name.removeprefix(".")
    return f"{base}.{name}" if base and name else base or name or "<nil>"


def _check_null(schema: Schema, at: str, name: str, errors: Errors) -> int:
    wanted = _wanted_types(schema)
    is_refused = bool(wanted) and not schema.get("nullable")
    if is_refused:
        errors.append(_type_error(at, name, ",".join(wanted), "null"))
    if enum := schema.get("enum"):
        errors.append(field.not_supported(at, None, _listed(enum)))
    return 0 if is_refused else 1


# -- types and texts ----------------------------------------------------------------------------------------------


def _wanted_types(schema: Schema) -> tuple[str, ...]:
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _only_type(schema: Schema) -> str:
    return "" if schema.get(INT_OR_STRING) else schema.get("type", "")


def _check_type(value: Any, found: str, schema: Schema, at: str, name: str, errors: Errors) -> int:
    wanted, form = _wanted_types(schema), effective_format(schema)
    if not wanted and not form:
        return 0
    fits = (
        found in wanted
        or (found == "integer" and "number" in wanted)
        or (found == "number" and "integer" in wanted and is_whole(value))
    )
    if form and found not in ("string", "array"):
        if not fits and form != _GO_FORMATS.get(found):
            errors.append(_type_error(at, name, form, _GO_FORMATS.get(found, "")))
            return 1
    elif form and not {"number", "integer"} & {*wanted}:
        return 2
    if not fits:
        errors.append(_type_error(at, name, ",".join(wanted), found))
    return 1 + fits


def _type_error(at: str, name: str, wanted: str, found: str) -> FieldError:
    return field.type_invalid(at, found, f"{name} in body must be of type {wanted}: {field.go_quote(found)}")


def _check_text(value: str, schema: Schema, at: str, name: str, errors: Errors) -> int:
    """Of length and pattern only the first that does not fit is told."""
    length = len(value)
    if (most := schema.get("maxLength")) is not None and length > most:
        errors.append(field.too_long(at, most))
    elif (least := schema.get("minLength")) is not None and length < least:
        errors.append(field.invalid(at, value, f"{name} in body should be at least {least} chars long"))
    elif (pattern := schema.get("pattern")) and not go_regexp.compile_pattern(pattern).matches(value):
        errors.append(field.invalid(at, value, f"{name} in body should match '{pattern}'"))
    form = effective_format(schema)
    if not form:
        return 1
    if not is_of_format(value, form):
        errors.append(field.type_invalid(at, value, f"{name} in body must be of type {form}: {field.go_quote(value)}"))
    return 2


def _check_enum(value: Any, schema: Schema, at: str, errors: Errors) -> None:
    enum = schema.get("enum")
    if enum and not any(_is_enum_value(value, allowed) for allowed in enum):
        errors.append(field.not_supported(at, with_sorted_keys(value), _listed(enum)))


def _is_enum_value(value: Any, allowed: Any) -> bool:
    """Go converts a number to the type of the allowed one before it compares: 1.5 becomes 1."""
    found, wanted = type_name(value), type_name(allowed)
    if found == "number" and wanted == "integer":
        return int(value) == int(allowed)
    return bool(value == allowed) and (found == wanted or (found, wanted) == ("integer", "number"))


def _listed(enum: Sequence[Any]) -> list[str]:
    return [allowed if isinstance(allowed, str) else field.go_value(with_sorted_keys(allowed)) for allowed in enum]


# -- lists and objects --------------------------------------------------------------------------------------------


def _check_list(value: Sequence[Any], schema: Schema, base: str, at: str, name: str, old: Any, errors: Errors) -> int:
    matches = 0
    if (items := items_of(schema)) is not None:
        for i, (element, before) in enumerate(zip(value, old_elements(old, value, schema), strict=True)):
            matches += _check(element, items, base, f"{name}[{i}]", before, errors)
    if (least := schema.get("minItems")) is not None and len(value) < least:
        errors.append(field.invalid(at, len(value), f"{name} in body should have at least {least} items"))
    if (most := schema.get("maxItems")) is not None and len(value) > most:
        errors.append(field.too_many(at, len(value), most))
    return matches


def _check_object(
    value: Mapping[str, Any], schema: Schema, base: str, at: str, name: str, old: Any, errors: Errors
) -> int:
    matches = 0
    if (least := schema.get("minProperties")) is not None and len(value) < least:
        errors.append(field.invalid(at, len(value), f"{name} in body should have at least {least} properties"))
    if (most := schema.get("maxProperties")) is not None and len(value) > most:
        errors.append(field.too_many(at, len(value), most))
    properties = properties_of(schema)
    if "additionalProperties" in schema:
        matches += _check_further(value, schema, base, at, name, old, errors)
    for key, known in properties.items():
        if key in value:
            below = f"{name}.{key}" if name else key
            before = UNKNOWN if not name and key in _TYPE_META else old_field(old, key)
            matches += _check(value[key], known, base, below, before, errors)
    for key in schema.get("required") or ():
        if key not in value:
            errors.append(field.required(path_of(base, f"{name}.{key}")))
    return matches


def _check_further(
    value: Mapping[str, Any], schema: Schema, base: str, at: str, name: str, old: Any, errors: Errors
) -> int:
    """Keys that are no properties."""
    matches, properties, additional = 0, properties_of(schema), additional_of(schema)
    for key, part in value.items():
        if key in properties:
            continue
        if schema["additionalProperties"] is False:
            errors.append(field.invalid(at, key, f"{name}.{key} in body is a forbidden property"))
        elif additional is not None:
            matches += _check(part, additional, base, f"{name}.{key}", old_field(old, key), errors)
    return matches


# -- allOf, anyOf, oneOf, not -------------------------------------------------------------------------------------


def _check_junctors(value: Any, schema: Schema, base: str, name: str, old: Any, errors: Errors) -> int:
    matches = 0
    if any_of := schema.get("anyOf"):
        matches += _check_any_of(value, any_of, base, name, old, errors)
    if one_of := schema.get("oneOf"):
        matches += _check_one_of(value, one_of, base, name, old, errors)
    if all_of := schema.get("allOf"):
        fitting = 0
        for part in all_of:
            before = len(errors)
            matches += _check_all(value, part, base, name, old, errors)
            fitting += len(errors) == before
        if fitting < len(all_of):
            none = "" if fitting else ". None validated"
            errors.append(_refusal(base, name, f"must validate all the schemas (allOf){none}"))
    if (negated := schema.get("not")) is not None and not _result(value, negated, base, name, old)[1]:
        errors.append(_refusal(base, name, "must not validate the schema (not)"))
    return matches


def _check_any_of(value: Any, parts: Sequence[Schema], base: str, name: str, old: Any, errors: Errors) -> int:
    best: tuple[int, Errors] | None = None
    for part in parts:
        result = _result(value, part, base, name, old)
        if not result[1]:
            return result[0]
        if best is None or result[0] > best[0]:
            best = result
    assert best is not None, "there is a part"
    errors.append(_refusal(base, name, "must validate at least one schema (anyOf)"))
    errors.extend(best[1])
    return best[0]


def _check_one_of(value: Any, parts: Sequence[Schema], base: str, name: str, old: Any, errors: Errors) -> int:
    results = [_result(value, part, base, name, old) for part in parts]
    fitting = [result for result in results if not result[1]]
    if len(fitting) == 1:
        return fitting[0][0]
    count = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
    errors.append(_refusal(base, name, f"must validate one and only one schema (oneOf). {count}"))
    if fitting:
        return 0
    matches, said = max(results, key=lambda result: result[0])  # the first of the best
    errors.extend(said)
    return matches


def _result(value: Any, schema: Schema, base: str, name: str, old: Any) -> tuple[int, Errors]:
    errors: Errors = []
    return _check_all(value, schema, base, name, old, errors), errors


def _refusal(base: str, name: str, text: str) -> FieldError:
    return field.invalid(base or "<nil>", "", f"{field.go_quote(name)} {text}")
