"""ttl-controller: tells kubelets how long they may cache Secrets and ConfigMaps; the larger the cluster, the longer.

An annotation on each node. The steps overlap, so that a cluster at the edge of one does not go to and fro.
pkg/controller/ttl, v1.36.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, annotations_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For

ANNOTATION = "node.alpha.kubernetes.io/ttl"


class Step(NamedTuple):
    """For clusters of `fewest` to `most` nodes."""

    fewest: int
    most: float
    seconds: int


STEPS = (Step(0, 100, 0), Step(90, 500, 15), Step(450, 1000, 30), Step(900, 2000, 60), Step(1800, math.inf, 300))


def add_to(manager: Manager) -> None:
    nodes = manager.informer(NODES)
    manager.add(Controller("ttlcontroller", TtlReconciler(manager.api, nodes), [For(nodes)], workers=5))


class TtlReconciler:
    """Keys are nodes. A change of step reaches the others with their next heartbeat."""

    def __init__(self, api: Api, nodes: Informer) -> None:
        self._api, self._nodes = api, nodes
        self._step = 0

    async def reconcile(self, key: ObjectKey) -> Result:
        node = self._nodes.get(key)
        if node is None:
            return DONE
        self._step = step_for(len(self._nodes.store), self._step)
        wanted = str(STEPS[self._step].seconds)
        if annotations_of(node).get(ANNOTATION) != wanted:
            with suppress(NotFound):  # deleted meanwhile
                await self._api.patch(NODES, key.name, {"metadata": {"annotations": {ANNOTATION: wanted}}})
        return DONE


def step_for(nodes: int, current: int) -> int:
    """The current step as long as it fits."""
    while nodes > STEPS[current].most:
        current += 1
    while nodes < STEPS[current].fewest:
        current -= 1
    return current
