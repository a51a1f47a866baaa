"""The names of a custom kind: plural, singular, kind, kind of lists, short names and categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_required
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]


def check_required_names(names: Json, path: str, errors: Errors) -> None:
    for name in ("plural", "singular", "kind", "listKind"):
        check_required(names.get(name), f"{path}.{name}", errors)


def check_names(names: Json, path: str, errors: Errors) -> None:
    """What is asked of names that are there: those wanted in the spec, those accepted in the status."""
    for name in ("plural", "singular"):
        if value := names.get(name):
            check_joined(validation.dns1035_label_errors(value), value, f"{path}.{name}", errors)
    for name in ("kind", "listKind"):
        value = names.get(name, "")
        if value and (reasons := validation.dns1035_label_errors(value.lower())):
            reason = f"may have mixed case, but should otherwise match: {','.join(reasons)}"
            errors.append(field.invalid(f"{path}.{name}", value, reason))
    _check_labels(names, "shortNames", path, errors)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        reason = "kind and listKind may not be the same"
        errors.append(field.invalid(f"{path}.listKind", names["listKind"], reason))
    _check_labels(names, "categories", path, errors)


def _check_labels(names: Json, name: str, path: str, errors: Errors) -> None:
    for i, value in enumerate(names.get(name) or NO_ITEMS):
        check_joined(validation.dns1035_label_errors(value), value, f"{path}.{name}[{i}]", errors)


def check_joined(reasons: list[str], value: str, path: str, errors: Errors) -> None:
    """All reasons in one error."""
    if reasons:
        errors.append(field.invalid(path, value, ",".join(reasons)))
