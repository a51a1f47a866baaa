"""Values against a structural schema, in the words of kube-openapi's validator.

Custom resources are checked with it on every write, and so are the defaults a CustomResourceDefinition brings. On an
update what did not change is let be, however wrong (ratcheting): schemas may become stricter. Rules in CEL are not
looked at here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.schema.formats import is_of_format
from apiserver.schema.json_schema import INT_OR_STRING, Schema, additional_of, items_of, properties_of
from apiserver.schema.old_values import UNKNOWN, old_elements, old_field
from kubeloop.apimachinery import field, go_regexp
from kubeloop.apimachinery.field import FieldError, go_float

_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def check_value(value: Any, schema: Schema, path: str, errors: list[FieldError], old: Any = UNKNOWN) -> None:
    """`path` is where the value stands; messages name it relative to that, so it is empty in them at the top.

    `old` is what stood there before, for an update.
    """
    errors.extend(_errors(value, schema, path, "", old))


def type_name(value: Any) -> str:
    return _TYPES.get(type(value), "object")


def _errors(value: Any, schema: Schema, base: str, name: str, old: Any) -> Sequence[FieldError]:
    """All errors of a value and what is in it; none where it is what it was."""
    found = list(_found(value, schema, base, name, old))
    return () if found and old is not UNKNOWN and same_value(old, value) else found


def same_value(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return left == right and (
        not isinstance(left, bool | int | float) or isinstance(left, bool) is isinstance(right, bool)
    )


def _found(value: Any, schema: Schema, base: str, name: str, old: Any) -> Iterator[FieldError]:
    at = f"{base}.{name}" if base and name else base or name or "<nil>"
    found, wanted = type_name(value), _wanted_types(schema)
    if value is None:
        if wanted and not schema.get("nullable"):
            yield _type_error(at, name, wanted, "null")
        return
    if not _fits(value, found, wanted):
        yield _type_error(at, name, wanted, found)
    yield from _junctor_errors(value, schema, base, name, old)
    if isinstance(value, str):
        yield from _text_errors(value, schema, at, name)
    elif found in ("integer", "number"):
        yield from _number_errors(value, schema, base, at, name)
    elif isinstance(value, list):
        yield from _list_errors(value, schema, base, at, name, old)
    enum = schema.get("enum") or ()
    if enum and not any(type_name(allowed) == found and allowed == value for allowed in enum):
        listed = [allowed if isinstance(allowed, str) else field.go_value(allowed) for allowed in enum]
        yield field.not_supported(at, value, listed)
    if isinstance(value, dict):
        yield from _object_errors(value, schema, base, at, name, old)


def _wanted_types(schema: Schema) -> tuple[str, ...]:
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _fits(value: Any, found: str, wanted: Sequence[str]) -> bool:
    if not wanted or found in wanted:
        return True
    if found == "integer" and "number" in wanted:
        return True
    return found == "number" and "integer" in wanted and float(value).is_integer()


def _type_error(at: str, name: str, wanted: Sequence[str], found: str) -> FieldError:
    return field.type_invalid(at, found, f'{name} in body must be of type {",".join(wanted)}: "{found}"')


def _text_errors(value: str, schema: Schema, at: str, name: str) -> Iterator[FieldError]:
    length = len(value)
    if (most := schema.get("maxLength")) is not None and length > most:
        yield field.too_long(at, most)
    if (least := schema.get("minLength")) is not None and length < least:
        yield field.invalid(at, value, f"{name} in body should be at least {least} chars long")
    if (pattern := schema.get("pattern")) and not go_regexp.compile_pattern(pattern).matches(value):
        yield field.invalid(at, value, f"{name} in body should match '{pattern}'")
    if (wanted := schema.get("format")) and not is_of_format(value, wanted):
        yield field.type_invalid(at, value, f"{name} in body must be of type {wanted}: {field.go_quote(value)}")


def _number_errors(value: float, schema: Schema, base: str, at: str, name: str) -> Iterator[FieldError]:
    if schema.get("type") == "integer" and not float(value).is_integer():
        form = schema.get("format") or "default"
        message = f"Checked value must be of type integer ({form} format) in {name}"
        yield field.invalid(base or "<nil>", "", message)
    if (factor := schema.get("multipleOf")) is not None:
        yield from _multiple_errors(value, factor, at, name)
    for bound, exclusive, words, beyond in (
        ("maximum", "exclusiveMaximum", "less than", 1),
        ("minimum", "exclusiveMinimum", "greater than", -1),
    ):
        limit = schema.get(bound)
        if limit is None:
            continue
        is_strict = bool(schema.get(exclusive))
        if (value - limit) * beyond > 0 or (is_strict and value == limit):
            rule = f"{words} {_number(limit)}" if is_strict else f"{words} or equal to {_number(limit)}"
            yield field.invalid(at, value, f"{name} in body should be {rule}")


def _multiple_errors(value: float, factor: float, at: str, name: str) -> Iterator[FieldError]:
    """Whole numbers are divided by the whole part of the factor, of which there may be none."""
    if isinstance(value, int) and int(factor) <= 0:
        yield field.invalid(at, int(factor), f"factor MultipleOf declared for {name} must be positive: {int(factor)}")
    elif isinstance(value, int):
        if value % int(factor):
            yield field.invalid(at, value, f"{name} in body should be a multiple of {int(factor)}")
    elif not math.isclose(value / factor, round(value / factor), rel_tol=1e-9, abs_tol=1e-9):
        yield field.invalid(at, value, f"{name} in body should be a multiple of {_number(factor)}")


def _number(value: float) -> str:
    return go_float(value) if isinstance(value, float) else str(value)


def _list_errors(value: Sequence[Any], schema: Schema, base: str, at: str, name: str, old: Any) -> Iterator[FieldError]:
    if (items := items_of(schema)) is not None:
        for i, (element, before) in enumerate(zip(value, old_elements(old, value, schema), strict=True)):
            yield from _errors(element, items, base, f"{name}[{i}]", before)
    if (least := schema.get("minItems")) is not None and len(value) < least:
        yield field.invalid(at, len(value), f"{name} in body should have at least {least} items")
    if (most := schema.get("maxItems")) is not None and len(value) > most:
        yield field.too_many(at, len(value), most)


def _object_errors(
    value: Mapping[str, Any], schema: Schema, base: str, at: str, name: str, old: Any
) -> Iterator[FieldError]:
    if (least := schema.get("minProperties")) is not None and len(value) < least:
        yield field.invalid(at, len(value), f"{name} in body should have at least {least} properties")
        return
    if (most := schema.get("maxProperties")) is not None and len(value) > most:
        yield field.too_many(at, len(value), most)
        return
    properties, additional = properties_of(schema), additional_of(schema)
    for key, part in value.items():
        if key in properties:
            continue
        if schema.get("additionalProperties") is False:
            yield field.invalid(f"{at}.{key}", "", f"{name}.{key} in body is a forbidden property")
        elif additional is not None:
            yield from _errors(part, additional, base, _below(name, key), old_field(old, key))
    for key, property_schema in properties.items():
        if key in value:
            yield from _errors(value[key], property_schema, base, _below(name, key), old_field(old, key))
    for key in schema.get("required") or ():
        if key not in value:
            yield field.required(f"{base}.{_below(name, key)}" if base else _below(name, key))


def _below(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _junctor_errors(value: Any, schema: Schema, base: str, name: str, old: Any) -> Iterator[FieldError]:
    def refusal(text: str) -> FieldError:
        return field.invalid(base or "<nil>", "", f"{field.go_quote(name)} {text}")

    def found(part: Schema) -> Sequence[FieldError]:
        return list(_found(value, part, base, name, old))

    if any_of := schema.get("anyOf"):
        results = [found(part) for part in any_of]
        if all(results):
            yield refusal("must validate at least one schema (anyOf)")
            yield from min(results, key=len)
    if one_of := schema.get("oneOf"):
        fitting = sum(not found(part) for part in one_of)
        if fitting != 1:
            count = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
            yield refusal(f"must validate one and only one schema (oneOf). {count}")
            if not fitting:
                yield from min((found(part) for part in one_of), key=len)
    if all_of := schema.get("allOf"):
        results = [found(part) for part in all_of]
        for result in results:
            yield from result
        if any(results):
            yield refusal(f"must validate all the schemas (allOf){'. None validated' if all(results) else ''}")
    if (negated := schema.get("not")) is not None and not found(negated):
        yield refusal("must not validate the schema (not)")
