"""Setting what is missing: the two ways Kubernetes' defaults come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.meta import Object


def fill(target: Object, defaults: Mapping[str, Any]) -> None:
    """Set what is absent or null: for pointers, whose zero is a value of its own."""
    for name, value in defaults.items():
        if target.get(name) is None:
            target[name] = value


def fill_empty(target: Object, defaults: Mapping[str, Any]) -> None:
    """Set what is absent or zero: for plain values, whose zero cannot be told from unset."""
    for name, value in defaults.items():
        if not target.get(name):
            target[name] = value
