"""Kubelets reduced to their heartbeat: leases of some nodes, renewed every ten seconds while the process runs."""

from __future__ import annotations

from contextlib import suppress

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.resource import LEASES
from kubeloop.apimachinery.times import format_micro_time
from kubeloop.testing.cluster import Process, Surroundings

NAMESPACE = "kube-node-lease"


def heartbeats_of(*names: str) -> Process:
    """A process of a cluster; nodes whose names are not given are silent."""

    async def process(surroundings: Surroundings) -> None:
        while True:
            for name in names:
                with suppress(ApiError):  # a kubelet goes on, too
                    await _beat(surroundings, name)
            await surroundings.clock.sleep(10)

    return process


async def _beat(surroundings: Surroundings, name: str) -> None:
    spec = {"holderIdentity": name, "renewTime": format_micro_time(surroundings.clock.now())}
    try:
        await surroundings.api.patch(LEASES, name, {"spec": spec}, NAMESPACE)
    except NotFound:
        await surroundings.api.create(LEASES, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)
