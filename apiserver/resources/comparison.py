"""When two values mean the same: amounts in any spelling, absent and empty alike (apiequality.Semantic)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery import quantity

# Fields whose values are amounts: maps of them, and single ones.
AMOUNT_MAPS = frozenset(
    {
        "limits",
        "requests",
        "overhead",
        "capacity",
        "allocatable",
        "hard",
        "used",
        "allocatedResources",
        "podFixed",
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    }
)
AMOUNTS = frozenset({"sizeLimit", "divisor", "averageValue", "maximumVolumeSize", "tolerance"})


def same(left: Any, right: Any) -> bool:
    """Whether both mean the same. Equal values, by far the most, cost one comparison."""
    return left == right or _same(left, right, is_amount=False, holds_amounts=False)


def _same(left: Any, right: Any, *, is_amount: bool, holds_amounts: bool) -> bool:
    if left == right:
        return True
    if _is_nothing(left) and _is_nothing(right):
        return True
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return all(
            _same(
                left.get(key),
                right.get(key),
                is_amount=holds_amounts or key in AMOUNTS,
                holds_amounts=key in AMOUNT_MAPS,
            )
            for key in left.keys() | right.keys()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            _same(a, b, is_amount=False, holds_amounts=False) for a, b in zip(left, right, strict=True)
        )
    if is_amount and isinstance(left, str) and isinstance(right, str):
        return _same_amount(left, right)
    return False


def _same_amount(left: str, right: str) -> bool:
    try:
        return quantity.parse(left) == quantity.parse(right)
    except quantity.QuantityError:
        return False


def _is_nothing(value: Any) -> bool:
    """Absent, or an empty list. An empty object is something: the source of an emptyDir."""
    return value is None or value == []
