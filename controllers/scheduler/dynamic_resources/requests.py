"""What a claim asks for: requests, each for devices of a class, or alternatives, the first of which that works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.scheduler.dynamic_resources.capacity import Amounts
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.quantity import parse

Json = Mapping[str, Any]

EXACT_COUNT, ALL = "ExactCount", "All"


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """`alternative` is set for those of `firstAvailable`: its name in the request."""

    name: str
    alternative: str
    class_name: str
    mode: str
    count: int
    admin_access: bool | None
    selectors: Sequence[Json]
    tolerations: Sequence[Json]
    capacity: Amounts

    @property
    def own_name(self) -> str:
        return self.alternative or self.name

    @property
    def full_name(self) -> str:
        return f"{self.name}/{self.alternative}" if self.alternative else self.name

    def is_among(self, names: Sequence[str]) -> bool:
        """Whether it is meant: by name, or with all alternatives of its request."""
        return self.name in names or self.full_name in names


def requests_of(claim: ReadOnlyObject) -> Sequence[Sequence[Request]]:
    """Of every request its alternatives; those of `exactly` have one, those of a kind not known here none."""
    return [_alternatives(request) for request in devices_of(claim).get("requests") or ()]


def devices_of(claim: ReadOnlyObject) -> Json:
    devices: Json = (claim.get("spec") or {}).get("devices") or {}
    return devices


def _alternatives(request: Json) -> Sequence[Request]:
    name = request.get("name", "")
    if request.get("exactly") is not None:
        return [_request(name, "", request["exactly"])]
    return [_request(name, one.get("name", ""), one) for one in request.get("firstAvailable") or ()]


def _request(name: str, alternative: str, asked: Json) -> Request:
    return Request(
        name,
        alternative,
        asked.get("deviceClassName", ""),
        asked.get("allocationMode", EXACT_COUNT),
        asked.get("count", 1),
        asked.get("adminAccess"),
        asked.get("selectors") or (),
        asked.get("tolerations") or (),
        {name: parse(str(amount)) for name, amount in ((asked.get("capacity") or {}).get("requests") or {}).items()},
    )
