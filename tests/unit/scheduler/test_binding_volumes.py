"""Waiting for the volumes of a pod that has found its node: what ends it, and in which words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from controllers.scheduler.interface import Handle
from controllers.scheduler.volume_binder import BindingFailed, Found, VolumeBinder
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, Resource
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.controllers.volumes.storage import a_claim, a_volume, on_host
from tests.unit.scheduler.scene import FakeLister, info

SELECTED = {"volume.kubernetes.io/selected-node": "a"}
BOUND = {**SELECTED, "pv.kubernetes.io/bind-completed": "yes"}
POD, CLAIM, VOLUME = ObjectKey("default", "p"), ObjectKey("default", "claim"), ObjectKey("", "volume")


class Cluster:
    """A pod that waits for a volume to be made for its claim on node a; `change` is what happens meanwhile."""

    def __init__(self, change: Callable[[Cluster], None]) -> None:
        self._change = change
        self.waited = 0
        self.nodes, self.volumes = FakeLister([a_node("a")]), FakeLister()
        self.pods = FakeLister([info(a_pod("p")).pod])
        self.claims = FakeLister([a_claim(metadata={"annotations": SELECTED})])

    def lister(self, resource: Resource) -> FakeLister:
        known = {
            NODES: self.nodes,
            PODS: self.pods,
            PERSISTENT_VOLUMES: self.volumes,
            PERSISTENT_VOLUME_CLAIMS: self.claims,
        }
        return known.get(resource, FakeLister())

    async def pause(self, seconds: float) -> None:
        self.waited += 1
        self._change(self)

    async def bind(self, timeout_seconds: float = 600) -> None:
        handle = Handle(lister=self.lister, api=None, rng=Random(1), pause=self.pause)  # type: ignore[arg-type]
        binder = VolumeBinder(handle, timeout_seconds)
        await binder.bind(info(a_pod("p")), Found(provisions=[self.claims.objects[CLAIM]]), "a")


Change = Callable[[Cluster], None]


def claim_becomes(claim: Object, volume: Object | None = None) -> Change:
    """With `volume` in the cluster."""

    def change(cluster: Cluster) -> None:
        cluster.claims.objects[CLAIM] = claim
        if volume is not None:
            cluster.volumes.objects[VOLUME] = volume

    return change


def pod_is_made_anew(cluster: Cluster) -> None:
    pod = a_pod("p")
    pod["metadata"]["uid"] = "another"
    cluster.pods.objects[POD] = pod


IN_A_VOLUME = a_claim(volumeName="volume", metadata={"annotations": BOUND})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cluster: cluster.pods.objects.clear(), 'pod does not exist any more: pod "p" not found'),
        (pod_is_made_anew, 'pod does not exist any more: pod "p" not found'),
        (lambda cluster: cluster.nodes.objects.clear(), 'failed to get node "a": node "a" not found'),
        (
            lambda cluster: cluster.claims.objects.clear(),
            'failed to check provisioning pvc: persistentvolumeclaims "default/claim" not found',
        ),
        (claim_becomes(a_claim()), 'selectedNode annotation reset for PVC "claim"'),
        (claim_becomes(a_claim(metadata={"annotations": {"x": "y"}})), 'provisioning failed for PVC "claim"'),
        (
            claim_becomes(IN_A_VOLUME, a_volume(nodeAffinity=on_host("b"))),
            'pv "volume" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
        (lambda cluster: None, "context deadline exceeded"),
    ],
)
def test_what_ends_the_wait(change: Change, message: str) -> None:
    """As kube-scheduler tells it. A pod that is gone must not hold its volumes for ten minutes."""
    with pytest.raises(BindingFailed) as failure:
        asyncio.run(Cluster(change).bind(timeout_seconds=1))

    assert f"binding volumes: {message}" == str(failure.value)


def test_the_wait_ends_with_a_volume_for_the_claim() -> None:
    """Only once the volume is known, too."""

    def change(cluster: Cluster) -> None:
        cluster.claims.objects[CLAIM] = IN_A_VOLUME
        if cluster.waited == 3:
            cluster.volumes.objects[VOLUME] = a_volume(nodeAffinity=on_host("a"))

    cluster = Cluster(change)
    asyncio.run(cluster.bind())

    assert 3 == cluster.waited
