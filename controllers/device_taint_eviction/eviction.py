"""When the users of a claim have to go, by the taints of its devices and what it tolerates. Plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from controllers.device_claims import consumers_of, results_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import parse_time
from kubeloop.apimachinery.tolerations import NO_EXECUTE, Taint, Toleration, tolerates

SlicesOf = Callable[[str], Sequence[Object]]


def pool_of_slice(one: ReadOnlyObject) -> str:
    spec = one.get("spec") or {}
    return f"{spec.get('driver', '')}/{(spec.get('pool') or {}).get('name', '')}"


def pools_of_claim(claim: ReadOnlyObject) -> list[str]:
    return sorted({_pool_of(result) for result in results_of(claim)})


def consumer_uids(claim: ReadOnlyObject) -> list[str]:
    """Of the pods that it is reserved for."""
    return [
        consumer["uid"]
        for consumer in consumers_of(claim)
        if not consumer.get("apiGroup") and consumer.get("resource") == "pods"
    ]


def no_execute_taints(one: ReadOnlyObject) -> Mapping[str, Sequence[Taint]]:
    """By device."""
    devices = (one.get("spec") or {}).get("devices") or ()
    found = {
        device["name"]: [t for t in device.get("taints") or () if t.get("effect") == NO_EXECUTE] for device in devices
    }
    return {name: taints for name, taints in found.items() if taints}


def eviction_time(claims: Sequence[ReadOnlyObject], slices_of: SlicesOf) -> datetime | None:
    """The earliest moment at which a taint is not tolerated any more; None: never."""
    return min((moment for claim in claims for moment in _moments(claim, slices_of)), default=None)


def _moments(claim: ReadOnlyObject, slices_of: SlicesOf) -> Iterator[datetime]:
    for result in results_of(claim):
        for taint in _taints_of(result, slices_of):
            seconds = _seconds_to_stay(result.get("tolerations") or (), taint)
            if seconds is not None and taint.get("timeAdded"):
                yield parse_time(taint["timeAdded"]) + timedelta(seconds=seconds)


def _seconds_to_stay(tolerations: Sequence[Toleration], taint: Taint) -> int | None:
    """None: for ever. Only what says NoExecute tolerates it here."""
    limits = [
        toleration.get("tolerationSeconds")
        for toleration in tolerations
        if toleration.get("effect") == NO_EXECUTE and tolerates(toleration, taint)
    ]
    if any(limit is None for limit in limits):
        return None
    return min((max(limit or 0, 0) for limit in limits), default=0)


def _taints_of(result: Mapping[str, Any], slices_of: SlicesOf) -> Sequence[Taint]:
    """What slices of the pool's newest generation say of the device."""
    slices = slices_of(_pool_of(result))
    newest = max((one["spec"]["pool"].get("generation", 0) for one in slices), default=0)
    for one in slices:
        if one["spec"]["pool"].get("generation", 0) == newest and (
            taints := no_execute_taints(one).get(result["device"])
        ):
            return taints
    return ()


def _pool_of(result: Mapping[str, Any]) -> str:
    return f"{result.get('driver', '')}/{result.get('pool', '')}"
