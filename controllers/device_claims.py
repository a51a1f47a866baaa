"""What loops and the scheduler ask of ResourceClaims: which devices one has, and who uses it. Plain functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject


def allocation_of(claim: ReadOnlyObject) -> Mapping[str, Any] | None:
    allocation: Mapping[str, Any] | None = (claim.get("status") or {}).get("allocation")
    return allocation


def results_of(claim: ReadOnlyObject) -> Sequence[Mapping[str, Any]]:
    """The devices that are allocated to it."""
    results: Sequence[Mapping[str, Any]] = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
    return results


def consumers_of(claim: ReadOnlyObject) -> Sequence[Mapping[str, Any]]:
    """Whom it is reserved for."""
    consumers: Sequence[Mapping[str, Any]] = (claim.get("status") or {}).get("reservedFor") or ()
    return consumers
