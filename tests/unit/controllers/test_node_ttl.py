"""How long kubelets may cache."""

from controllers import node_ttl
from controllers.node_ttl import STEPS, step_for
from kubeloop.apimachinery.meta import Object, annotations_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.testing.builders import a_node
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster


def test_steps_overlap() -> None:
    """A cluster that grows and shrinks around an edge keeps its step; one that jumps skips some."""
    step, seconds = 0, []
    for nodes in (100, 101, 95, 89, 600, 2500, 1):
        step = step_for(nodes, step)
        seconds.append(STEPS[step].seconds)

    assert [0, 15, 15, 0, 30, 300, 0] == seconds


def test_every_node_is_told() -> None:
    """New ones, and those whose annotation somebody changed."""

    async def check(cluster: Cluster) -> list[Object]:
        await cluster.create(a_node("new"))
        await cluster.create(a_node("changed").annotations({node_ttl.ANNOTATION: "x"}))
        await cluster.settled()
        return await cluster.list(NODES)

    nodes = run_cluster(check, processes={"ttl": a_loop(node_ttl.add_to)})

    assert ["0", "0"] == [annotations_of(node).get(node_ttl.ANNOTATION) for node in nodes]
