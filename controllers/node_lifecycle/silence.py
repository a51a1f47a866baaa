"""Who has fallen silent, and writing that down: the memory of signs of life, and the conditions turned Unknown."""

from __future__ import annotations

from typing import NamedTuple

from controllers.node_lifecycle.health import Health, is_silent, observe, ready_condition, silent_conditions
from controllers.node_lifecycle.settings import Settings
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import Object, ObjectKey, metadata, name_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.apimachinery.times import format_time, seconds_since
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer

LEASE_NAMESPACE = "kube-node-lease"
_ATTEMPTS = 5


class Checked(NamedTuple):
    """A node as this pass leaves it; `was_ready`: by the status that was found, before we wrote Unknown."""

    node: Object
    ready: str | None  # None: nobody has ever reported
    was_ready: bool


class Silence:
    def __init__(self, api: Api, clock: Clock, leases: Informer, settings: Settings) -> None:
        self._api, self._clock, self._leases, self._settings = api, clock, leases, settings
        self._health: dict[str, Health] = {}  # of every node ever checked and not forgotten

    def knows(self, name: str) -> bool:
        return name in self._health

    def forget(self, name: str) -> None:
        self._health.pop(name, None)

    def start_over(self) -> None:
        """Take all nodes for alive just now: we were cut off, and what we missed says nothing about them."""
        now = self._clock.monotonic()
        self._health = {name: Health(now, health.heartbeat, health.renewed) for name, health in self._health.items()}

    def is_overdue(self, node: Object) -> bool:
        """Whether the node is silent and its status does not say so yet. Notes its signs of life."""
        name, now = name_of(node), self._clock.monotonic()
        before = self._health.get(name)
        age = 0.0  # counts only for a node that is seen for the first time
        if before is None:
            age = seconds_since(metadata(node)["creationTimestamp"], self._clock.now())
        lease = self._leases.get(ObjectKey(LEASE_NAMESPACE, name))
        health = self._health[name] = observe(before, node, lease, now, age)
        return is_silent(health, now, self._settings) and _ready(node) != "Unknown"

    async def mark(self, node: Object) -> Checked:
        """Turn an overdue node's conditions to Unknown; a heartbeat that comes between saves it."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            status = {**(node.get("status") or {})}
            status["conditions"] = silent_conditions(node, format_time(self._clock.now()))
            try:
                marked = await self._api.update(NODES, {**node, "status": status}, subresource="status")
                return checked(marked, was_ready=_ready(node) == "True")
            except Conflict:
                if not attempts_left:
                    raise
            node = await self._api.get(NODES, name_of(node))
            if not self.is_overdue(node):
                break
        return checked(node)


def checked(node: Object, was_ready: bool | None = None) -> Checked:
    ready = _ready(node)
    return Checked(node, ready, ready == "True" if was_ready is None else was_ready)


def _ready(node: Object) -> str | None:
    condition = ready_condition(node)
    return None if condition is None else condition.get("status") or "Unknown"
