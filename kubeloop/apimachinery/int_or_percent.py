"""Values that are a number or a percentage of another, such as maxSurge: `3` or `"25%"`.

Controllers call `scaled`; validation asks `is_percent` and `percent`. As k8s.io/apimachinery/pkg/util/intstr (v1.36).
"""

from __future__ import annotations

import re

IntOrPercent = int | str

_PERCENT = re.compile(r"([+-]?[0-9]+)%")


def is_percent(value: IntOrPercent | None) -> bool:
    """Whether it is text of the form `25%`."""
    return isinstance(value, str) and _PERCENT.fullmatch(value) is not None


def percent(value: IntOrPercent | None) -> int | None:
    """25 for `25%`; None for anything else."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def scaled(value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """The number itself, or that percentage of `total`; ValueError for other text."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is None:
        why = f'invalid value "{value}"' if value.endswith("%") else "invalid type: string is not a percentage"
        raise ValueError(f"invalid value for IntOrString: {why}")
    product = share * total
    return -(-product // 100) if round_up else product // 100
