"""The heartbeat of each node: a Lease in kube-node-lease, renewed every ten seconds.

Semantics: component-helpers/apimachinery/lease (v1.36). The last answer is kept, so a beat is one PUT; whoever else
wrote in between is answered by reading it again. The beats that follow the nodes' first are spread over a whole
period: thousands of nodes that start together do not beat together. Where upstream draws a delay of up to 4 %, a beat
here waits for the next tick, as long, for the others that are due by then: writes that come at once cost far less.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import ceil

from kubelet_sim.faults.registry import Faults
from kubelet_sim.node_object import NodeIdentity
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import AlreadyExists, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, uid_of
from kubeloop.apimachinery.resource import LEASES, NODES
from kubeloop.apimachinery.times import format_micro_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, RequeueAfter, Result

NAMESPACE = "kube-node-lease"
DURATION_SECONDS = 40
RENEW_SECONDS = 10.0
_TICK_SECONDS = 0.4  # upstream's jitter: 4 % of the period
_WITHOUT_NODE_SECONDS = 1.0


class LeaseReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        nodes: Informer,
        identities: Mapping[str, NodeIdentity],
        faults: Faults,
    ) -> None:
        self._api, self._clock, self._rng, self._nodes = api, clock, rng, nodes
        self._identities, self._faults = identities, faults
        self._latest: dict[str, Object] = {}  # node -> its lease as last answered

    async def reconcile(self, key: ObjectKey) -> Result:
        if key.name not in self._identities:  # there are fewer nodes now
            self._latest.pop(key.name, None)
            return DONE
        node = self._nodes.get(ObjectKey("", key.name))
        if node is None:
            self._latest.pop(key.name, None)
            return RequeueAfter(_WITHOUT_NODE_SECONDS)
        if self._faults.is_cut_off(key.name):
            return RequeueAfter(RENEW_SECONDS)
        is_first = key.name not in self._latest
        await self._beat(key.name, uid_of(node))
        beat = RENEW_SECONDS * self._rng.random() if is_first else RENEW_SECONDS
        return RequeueAfter(self._until_tick(beat + self._faults.delay_seconds(key.name)))

    def _until_tick(self, seconds: float) -> float:
        """Until the first tick that is at least so far away."""
        now = self._clock.monotonic()
        return ceil((now + seconds) / _TICK_SECONDS) * _TICK_SECONDS - now

    async def _beat(self, name: str, node_uid: str) -> None:
        lease = self._latest.get(name) or await self._current(name, node_uid)
        renewed = {**lease, "spec": {**lease.get("spec", {}), **self._spec(name)}}
        try:
            self._latest[name] = await self._api.update(LEASES, renewed, managed_fields=False)
        except (Conflict, NotFound):
            self._latest.pop(name, None)
            raise

    async def _current(self, name: str, node_uid: str) -> Object:
        try:
            return await self._api.get(LEASES, name, NAMESPACE)
        except NotFound:
            pass
        try:
            return await self._api.create(LEASES, self._new(name, node_uid))
        except AlreadyExists:
            return await self._api.get(LEASES, name, NAMESPACE)

    def _new(self, name: str, node_uid: str) -> Object:
        owner = {"apiVersion": NODES.api_version, "kind": NODES.kind, "name": name, "uid": node_uid}
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]},
            "spec": self._spec(name),
        }

    def _spec(self, name: str) -> Object:
        return {
            "holderIdentity": name,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": format_micro_time(self._clock.now()),
        }
