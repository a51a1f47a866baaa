"""What is wrong with annotations about behaviour reaches whoever wrote them."""

from __future__ import annotations

from functools import partial

from kubeloop.apimachinery.resource import EVENTS, PODS
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running


async def told(cluster: Cluster) -> list[tuple[str, int]]:
    """What, and how often."""
    events = await cluster.list(EVENTS)
    return [(one["message"], one["count"]) for one in events if one["reason"] == "InvalidBehaviour"]


def test_an_annotation_that_is_changed_later_is_checked_again() -> None:
    """Once for each change, and not for what does not touch annotations."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(partial(running, cluster, pod))
        assert [] == await told(cluster)
        for metadata in ({"annotations": {"kubeloop.io/log": "every 1ms: x"}}, {"labels": {"a": "b"}}):
            await cluster.api.patch(PODS, "web", {"metadata": metadata}, "default")
            await cluster.clock.sleep(5)

        why = "annotation kubeloop.io/log: every 1ms is too often: write every 10ms or more"
        assert [(why, 1)] == await told(cluster)

    run_nodes(check, nodes=1)
