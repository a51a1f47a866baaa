"""Claims for a fraction of a byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS
from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.field import go_quote

Json = Mapping[str, Any]


def claim_spec_warnings(spec: Json, path: str) -> Iterator[str]:
    resources = spec.get("resources") or NO_FIELDS
    for kind in ("requests", "limits"):
        yield from fraction_warnings((resources.get(kind) or NO_FIELDS).get("storage"), f"{path}.resources.{kind}")


def fraction_warnings(amount: str | None, path: str) -> Iterator[str]:
    if amount is not None and quantity.milli_value(amount) % 1000:
        text = go_quote(str(quantity.parse(amount)))
        yield f"{path}[storage]: fractional byte value {text} is invalid, must be an integer"
