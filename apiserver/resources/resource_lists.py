"""Lists of amounts by resource name (`{"cpu": "100m"}`): rounding, and what containers and pods may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_dns_label
from apiserver.resources.resource_names import is_huge_pages, is_whole, may_be_overcommitted
from kubeloop.apimachinery import field, quantity, validation
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import MILLI, Quantity

Json = Mapping[str, Any]
CheckName = Callable[[str, str, Errors], None]

COMPUTE = ("cpu", "memory")


def round_up(amounts: Object) -> None:
    """Nothing is finer than a thousandth: finer amounts are rounded up."""
    for name, amount in amounts.items():
        amounts[name] = quantity.canonical(amount, MILLI)


def check_amount(name: str, amount: Quantity, path: str, errors: Errors) -> None:
    """Not negative, and whole where only whole ones make sense."""
    if amount.sign < 0:
        errors.append(field.invalid(path, str(amount), validation.MUST_BE_NON_NEGATIVE))
    if is_whole(name) and amount.milli_value() % 1000:
        errors.append(field.invalid(path, str(amount), "must be an integer"))


def check_amounts(amounts: Json, check_name: CheckName, path: str, errors: Errors) -> None:
    for name, text in amounts.items():
        at = f"{path}[{name}]"
        check_name(name, at, errors)
        check_amount(name, quantity.parse(text), at, errors)


def check_positive_amount(text: str, path: str, errors: Errors) -> None:
    amount = quantity.parse(text)
    if amount.sign <= 0:
        errors.append(field.invalid(path, str(amount), validation.MUST_BE_POSITIVE))


def check_requirements(
    requirements: Json, check_name: CheckName, claim_names: frozenset[str], path: str, errors: Errors
) -> None:
    """Limits, requests and claims of a container or a whole pod."""
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    for name, text in limits.items():
        at, amount = f"{path}.limits[{name}]", quantity.parse(text)
        check_name(name, at, errors)
        check_amount(name, amount, at, errors)
        _check_pages(name, amount, at, errors)
    for name, text in requests.items():
        _check_request(name, text, limits, check_name, path, errors)
    names = (*limits, *requests)
    if any(map(is_huge_pages, names)) and not any(name in COMPUTE for name in names):
        errors.append(field.forbidden(path, "HugePages require cpu or memory"))
    if claims := requirements.get("claims"):
        _check_claims(claims, claim_names, f"{path}.claims", errors)


def _check_request(name: str, text: str, limits: Json, check_name: CheckName, path: str, errors: Errors) -> None:
    at = f"{path}.requests"
    amount = quantity.parse(text)
    check_name(name, f"{at}[{name}]", errors)
    check_amount(name, amount, f"{at}[{name}]", errors)
    if name in limits:
        limit = quantity.parse(limits[name])
        if amount != limit and not may_be_overcommitted(name):
            errors.append(field.invalid(at, str(amount), f"must be equal to {name} limit of {limit}"))
        elif amount > limit:
            errors.append(field.invalid(at, str(amount), f"must be less than or equal to {name} limit of {limit}"))
    elif not may_be_overcommitted(name):
        errors.append(field.required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    _check_pages(name, amount, f"{at}[{name}]", errors)


def _check_pages(name: str, amount: Quantity, path: str, errors: Errors) -> None:
    if is_huge_pages(name) and not _is_multiple_of_page(name, amount):
        errors.append(field.invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))


def _is_multiple_of_page(name: str, amount: Quantity) -> bool:
    try:
        page = quantity.parse(name.removeprefix("hugepages-"))
    except quantity.QuantityError:
        return False
    if page.sign <= 0 or page.milli_value() % 1000:
        return False
    return amount.value() % page.value() == 0


def _check_claims(claims: Sequence[Json], known: frozenset[str], path: str, errors: Errors) -> None:
    """Every claim names one of the pod's, each once: as a whole or by its requests."""
    taken: set[str] = set()
    for i, claim in enumerate(claims):
        at = f"{path}[{i}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(field.required(at))
            continue
        key = f"{name}/{request}" if request else name
        if name in taken:
            errors.append(field.duplicate(at, name))
        else:
            if request:
                check_dns_label(request, f"{at}.request", errors)
            if key in taken:
                errors.append(field.duplicate(at, key))
            elif not request:
                errors.extend(field.duplicate(at, name) for other in taken if other.startswith(f"{name}/"))
            taken.add(key)
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            error = field.not_found(at, name)
            body = f"{error.body}: must be one of the names in pod.spec.resourceClaims{names}"
            errors.append(field.FieldError(error.reason, at, body))
