"""A whole cluster repeats itself: every loop and the scheduler, in one event loop, from one seed."""

from controllers import catalog
from controllers.scheduler import loop as scheduler
from kubeloop.apimachinery.resource import DEPLOYMENTS, PODS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_deployment, a_node, a_service
from kubeloop.testing.cluster import Cluster, Write, a_loop, run_cluster


def all_loops(manager: Manager) -> None:
    catalog.add_to(manager, catalog.LOOPS, catalog.Settings())


async def a_busy_minute(cluster: Cluster) -> list[Write]:
    """A rollout that a cut, a dead scheduler and a new API server get in the way of."""
    for i in range(3):
        await cluster.add_node(a_node(f"node-{i}"))
    await cluster.create(a_service("web"))
    web = await cluster.create(a_deployment("web").replicas(10))

    async def are_bound(count: int = 10) -> bool:
        pods = await cluster.list(PODS, "default", "app=web")
        return count == len([pod for pod in pods if pod["spec"].get("nodeName")])

    await cluster.eventually(are_bound)
    cluster.cut_off("loops")
    await cluster.stop("scheduler")
    await cluster.patch(web, {"spec": {"replicas": 15}})
    await cluster.stop_server()
    await cluster.clock.sleep(3)
    await cluster.start_server()
    cluster.start("scheduler")
    await cluster.eventually(lambda: are_bound(15))
    await cluster.settled()
    assert 15 == (await cluster.read(web, DEPLOYMENTS))["status"]["replicas"]
    return cluster.writes


def run_with(seed: int) -> list[Write]:
    processes = {"loops": a_loop(all_loops), "scheduler": a_loop(scheduler.add_to)}
    return run_cluster(a_busy_minute, seed=seed, processes=processes)


def test_one_seed_writes_the_same_requests() -> None:
    """Who writes what, when and in which order is the same in both runs, to the last byte."""
    first, second = run_with(seed=11), run_with(seed=11)

    assert 60 < len(first)
    assert first == second


def test_another_seed_is_another_run() -> None:
    """The seed is what fixes the names: another one gives others."""
    assert run_with(seed=1) != run_with(seed=2)
