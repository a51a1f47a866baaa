"""The selectors of access reviews: what is wrong with them, what an authorizer learns, and what could not be read.

Facts: pkg/apis/authorization/validation and pkg/registry/authorization/util (v1.36). Requirements that cannot be read
are left out, which only makes the question wider, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery import field, field_selectors, selector_text, selectors
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.selectors import SelectorError

Json = Mapping[str, Any]

_SIGNS = {"In": "=", "NotIn": "!="}


def selector_errors(attributes: Json) -> list[FieldError]:
    """What is wrong with the selectors of resourceAttributes; operators of times to come are let pass."""
    path = "spec.resourceAttributes"
    fields, labels = attributes.get("fieldSelector"), attributes.get("labelSelector")
    errors: list[FieldError] = []
    if fields is not None:
        errors += _form_errors(fields, f"{path}.fieldSelector")
        for i, requirement in enumerate(fields.get("requirements") or ()):
            errors += _field_errors(requirement, f"{path}.fieldSelector.requirements[{i}]")
    if labels is not None:
        errors += _form_errors(labels, f"{path}.labelSelector")
        for i, requirement in enumerate(labels.get("requirements") or ()):
            at = f"{path}.labelSelector.requirements[{i}]"
            errors += selectors.expression_errors(requirement, at, allow_unknown_operators=True)
    return errors


def field_selector_of(attributes: Json) -> str:
    """The field selector asked about, as a request would write it, as far as it can be read."""
    asked = attributes.get("fieldSelector") or {}
    if not asked.get("requirements"):
        text: str = asked.get("rawSelector", "")
        return text
    return ",".join(
        f"{one.get('key', '')}{_SIGNS[one['operator']]}{field_selectors.escape(one['values'][0])}"
        for one in asked["requirements"]
        if _is_readable(one)
    )


def unread(attributes: Json) -> list[str]:
    """What the answer says of selectors that could not be read in full."""
    fields, labels = attributes.get("fieldSelector") or {}, attributes.get("labelSelector") or {}
    return [
        *_unread("fieldSelector", fields, _is_readable, field_selectors.parse),
        *_unread("labelSelector", labels, _is_readable_label, selector_text.parse),
    ]


def _unread(name: str, asked: Json, is_readable: Callable[[Json], bool], parse: Callable[[str], object]) -> list[str]:
    requirements: Sequence[Json] = asked.get("requirements") or ()
    if not requirements:
        try:
            parse(asked.get("rawSelector", ""))
        except SelectorError:
            return [f"spec.resourceAttributes.{name} ignored due to parse error"]
        return []
    readable = [is_readable(one) for one in requirements]
    if all(readable):
        return []
    partially = "partially " if any(readable) else ""
    return [f"spec.resourceAttributes.{name} {partially}ignored due to parse error"]


def _is_readable(requirement: Json) -> bool:
    return requirement.get("operator") in _SIGNS and len(requirement.get("values") or ()) == 1


def _is_readable_label(requirement: Json) -> bool:
    try:
        selectors.from_label_selector({"matchExpressions": [requirement]})
    except SelectorError:
        return False
    return True


def _form_errors(selector: Json, path: str) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [field.invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        return [field.required(f"{path}.requirements", detail)]
    return []


def _field_errors(requirement: Json, path: str) -> list[FieldError]:
    errors = [] if requirement.get("key") else [field.required(f"{path}.key", "must be specified")]
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in _SIGNS and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.append(field.required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(field.forbidden(f"{path}.values", why))
    return errors
