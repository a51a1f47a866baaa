"""How much of each zone is down, and how fast its nodes may be tainted NoExecute.

Where most of a zone is gone the network is a likelier culprit than the nodes: evictions slow down or stop. Where no
node of the whole cluster is ready, it is probably us who are cut off: nothing is evicted at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum

from controllers.node_lifecycle.rate_limit import RateLimit
from controllers.node_lifecycle.settings import Settings
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of

_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_EXCLUDED = "node.kubernetes.io/exclude-disruption"
_FEW = 2  # so many unready nodes never disrupt a zone that has ready ones


class State(Enum):
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_of(node: ReadOnlyObject) -> tuple[str, str]:
    """Region and zone; the older labels win."""
    labels = labels_of(node)
    return _first_of(_REGION, labels), _first_of(_ZONE, labels)


def _first_of(keys: Iterable[str], labels: Mapping[str, str]) -> str:
    for key in keys:
        if key in labels:
            return labels[key]
    return ""


def counts(node: ReadOnlyObject) -> bool:
    """Whether it says anything about its zone."""
    return _EXCLUDED not in labels_of(node)


def state_of(ready: Sequence[bool], unhealthy_share: float) -> State:
    """`ready`: of each node in the zone."""
    unready = len(ready) - sum(ready)
    if unready and unready == len(ready):
        return State.FULL
    if unready > _FEW and unready / len(ready) >= unhealthy_share:
        return State.PARTIAL
    return State.NORMAL


class Zones:
    """`is_cluster_down`: no node is ready that counts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits: dict[tuple[str, str], RateLimit] = {}
        self.is_cluster_down = False

    def update(
        self, zones: Collection[tuple[str, str]], ready: Mapping[tuple[str, str], Sequence[bool]], now: float
    ) -> None:
        """`zones`: all that have nodes; `ready`: of the nodes that count."""
        states = {zone: state_of(nodes, self._settings.unhealthy_share) for zone, nodes in ready.items()}
        self.is_cluster_down = bool(states) and set(states.values()) == {State.FULL}
        for gone in self._limits.keys() - zones:
            del self._limits[gone]
        for zone in zones:
            limit = self._limits.setdefault(zone, RateLimit(self._settings.eviction_rate))
            limit.change(self._rate(states.get(zone, State.NORMAL), len(ready.get(zone, ()))), now)

    def limit(self, zone: tuple[str, str]) -> RateLimit:
        return self._limits[zone]

    def _rate(self, state: State, size: int) -> float:
        if self.is_cluster_down:
            return 0
        if state is not State.PARTIAL:
            return self._settings.eviction_rate
        return self._settings.secondary_eviction_rate if size > self._settings.large_zone else 0
