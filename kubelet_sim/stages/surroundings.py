"""The functions of templates that tell of the time, of chance, of this process and of the object's node.

Facts of kwok's pkg/utils/gotpl/funcs.go and of its controllers of pods and nodes.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubelet_sim.node_object import HEALTHY
from kubelet_sim.stages.template import Functions
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

GENERAL = (
    "Now",
    "now",
    "StartTime",
    "Version",
    "NodeConditions",
    "uuidv4",
    "randInt",
    "randAlphaNum",
    "randAlpha",
    "randNumeric",
)
OF_PODS = (
    "NodeIP",
    "NodeIPs",
    "NodeIPWith",
    "NodeIPsWith",
    "PodIP",
    "PodIPWith",
    "PodIPsWith",
    "NodeName",
    "NodePort",
)
OF_NODES = ("NodeIP", "NodeIPs", "NodeName", "NodePort")
_NETWORK = {
    "type": "NetworkUnavailable",
    "status": "False",
    "reason": "RouteCreated",
    "message": "RouteController created a route",
}
_MOST_CHARACTERS = 10_000


def names_of(api_version: str, kind: str) -> Sequence[str]:
    """The functions that templates for such objects may name."""
    of_kind = {("v1", "Pod"): OF_PODS, ("v1", "Node"): OF_NODES}.get((api_version, kind), ())
    return (*GENERAL, *of_kind)


class Surroundings:
    """`version`: what `Version` says."""

    def __init__(self, clock: Clock, rng: random.Random, version: str) -> None:
        self._clock, self._rng = clock, rng
        started = format_time(clock.now())
        self._fixed: dict[str, Callable[..., Any]] = {
            "Now": self._now,
            "now": self._now,
            "StartTime": lambda: started,
            "Version": lambda: version,
            "NodeConditions": node_conditions,
            "uuidv4": lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "randInt": lambda least, most: rng.randrange(least, most),
            "randAlphaNum": lambda count: self._characters(string.ascii_letters + string.digits, count),
            "randAlpha": lambda count: self._characters(string.ascii_letters, count),
            "randNumeric": lambda count: self._characters(string.digits, count),
        }

    def functions(self, more: Mapping[str, Callable[..., Any]] | None = None) -> Functions:
        return {**self._fixed, **more} if more else self._fixed

    def _now(self) -> str:
        return format_time(self._clock.now())

    def _characters(self, alphabet: str, count: int) -> str:
        return "".join(self._rng.choices(alphabet, k=min(count, _MOST_CHARACTERS)))


def of_pod(node: str, pod_ip: Callable[[], str], address: Callable[[str], str], port: int) -> Functions:
    """`pod_ip` is the pod's address, `address` that of a node by name. Host networking is `pod_ip`'s business."""
    return {
        "NodeIP": lambda: address(node),
        "NodeIPs": lambda: _known(address(node)),
        "NodeIPWith": lambda name, *_: address(name),
        "NodeIPsWith": lambda name, *_: _known(address(name)),
        "PodIP": pod_ip,
        "PodIPWith": lambda *_: pod_ip(),
        "PodIPsWith": lambda *_: _known(pod_ip()),
        "NodeName": lambda: node,
        "NodePort": lambda: port,
    }


def of_node(node: str, address: str, port: int) -> Functions:
    return {
        "NodeIP": lambda: address,
        "NodeIPs": lambda: [address],
        "NodeName": lambda: node,
        "NodePort": lambda: port,
    }


def node_conditions() -> list[Object]:
    """Those of a node that is well, without times."""
    own = [{"type": type_, "status": status, "reason": why, "message": text} for type_, status, why, text in HEALTHY]
    return [*own, _NETWORK]


def _known(address: str) -> list[str]:
    return [address] if address else []
