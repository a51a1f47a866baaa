"""API server, every loop, scheduler and nodes in one event loop, on virtual time: no ports, no sleeps, one seed."""

from __future__ import annotations

import time
from functools import partial

from controllers import catalog
from controllers.scheduler import loop as scheduler
from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.conditions import get_condition
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEPLOYMENTS, NODES, PODS
from kubeloop.cli.readiness import takes_pods
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_deployment, a_pod
from kubeloop.testing.cluster import Cluster, Write, a_loop, run_cluster


def all_loops(manager: Manager) -> None:
    catalog.add_to(manager, catalog.LOOPS, catalog.Settings())


PROCESSES = {
    "loops": a_loop(all_loops),
    "scheduler": a_loop(scheduler.add_to),
    "nodes": a_loop(partial(simulator.add_to, settings=Settings(nodes=3))),
}


async def status_of(cluster: Cluster, deployment: Object) -> Object:
    status: Object = (await cluster.read(deployment, DEPLOYMENTS)).get("status", {})
    return status


async def all_take_pods(cluster: Cluster) -> bool:
    return [True] * 3 == [takes_pods(node) for node in await cluster.list(NODES)]


async def a_ready_deployment(cluster: Cluster, replicas: int = 3) -> Object:
    web = await cluster.create(a_deployment("web").replicas(replicas))

    async def is_ready() -> bool:
        return replicas == (await status_of(cluster, web)).get("readyReplicas")

    await cluster.eventually(is_ready)
    return web


def test_a_deployment_becomes_ready_on_nodes_that_register_themselves() -> None:
    """From nothing: nodes come, pods are made, bound and started, and the Deployment says so."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(partial(all_take_pods, cluster))
        await a_ready_deployment(cluster)

        pods = await cluster.list(PODS, "default", "app=web")
        assert {"node-0", "node-1", "node-2"} == {pod["spec"]["nodeName"] for pod in pods}
        assert {"Running"} == {pod["status"]["phase"] for pod in pods}

    run_cluster(check, seed=1, processes=PROCESSES)


def test_pods_go_where_their_image_is() -> None:
    """A node lists what it has pulled, and of nodes that are alike the scheduler takes that one every time."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(partial(all_take_pods, cluster))

        async def image_is_listed() -> bool:
            return bool((await cluster.api.get(NODES, "node-1"))["status"].get("images"))

        async def ran_on(name: str, **spec: str) -> str:
            pod = await cluster.create(a_pod(name).image("nginx:1.27").spec(**spec))

            async def runs() -> Object | None:
                found = await cluster.read(pod)
                return found if found["status"].get("phase") == "Running" else None

            node: str = (await cluster.eventually(runs))["spec"]["nodeName"]
            await cluster.delete(pod)
            await cluster.eventually(partial(is_empty, cluster))
            return node

        await ran_on("first", nodeName="node-1")
        await cluster.eventually(image_is_listed)
        await cluster.settled()

        assert ["node-1"] * 4 == [await ran_on(f"next-{number}") for number in range(4)]

    run_cluster(check, seed=1, processes=PROCESSES)


async def is_empty(cluster: Cluster) -> bool:
    return not await cluster.list(PODS, "default")


def test_a_stuck_rollout_exceeds_its_deadline_after_ten_minutes_that_take_no_time() -> None:
    """An image that cannot be pulled ends in ProgressDeadlineExceeded, and the old pods still serve."""

    async def check(cluster: Cluster) -> float:
        web = await a_ready_deployment(cluster)
        began = cluster.clock.monotonic()
        broken = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "does-not-exist:1"}]}}}}
        await cluster.patch(web, broken)

        async def is_exceeded() -> bool:
            progressing = get_condition((await status_of(cluster, web)).get("conditions", []), "Progressing")
            return progressing is not None and progressing["reason"] == "ProgressDeadlineExceeded"

        await cluster.eventually(is_exceeded, within_seconds=900, every_seconds=5)
        assert 3 <= (await status_of(cluster, web))["readyReplicas"]
        return cluster.clock.monotonic() - began

    really = time.process_time()  # what others take of the machine does not count
    waited = run_cluster(check, seed=2, processes=PROCESSES)

    assert 600 <= waited < 700
    assert time.process_time() - really < waited / 10


def test_pods_of_a_dead_node_are_evicted_after_five_minutes() -> None:
    """A node whose process died becomes Unknown; pods that tolerate that for 300 s go when those are over."""
    doomed = a_loop(partial(simulator.add_to, settings=Settings(nodes=1, node_name_prefix="doomed-")))

    async def check(cluster: Cluster) -> None:
        await a_ready_deployment(cluster, replicas=8)
        await cluster.stop("doomed")

        async def is_unknown() -> bool:
            node = await cluster.api.get(NODES, "doomed-0")
            ready = get_condition(node["status"]["conditions"], "Ready")
            return ready is not None and ready["status"] == "Unknown"

        await cluster.eventually(is_unknown, within_seconds=120)
        unknown = cluster.clock.monotonic()

        async def is_evicted() -> bool:
            pods = await cluster.list(PODS, "default", "app=web")
            lost = [pod for pod in pods if pod["spec"].get("nodeName") == "doomed-0"]
            return bool(lost) and all("deletionTimestamp" in pod["metadata"] for pod in lost)

        await cluster.eventually(is_evicted, within_seconds=900, every_seconds=1)
        assert 295 <= cluster.clock.monotonic() - unknown

    run_cluster(check, seed=3, processes={**PROCESSES, "doomed": doomed})


def a_rollout_with_a_crash(seed: int) -> list[Write]:
    async def check(cluster: Cluster) -> list[Write]:
        web = await a_ready_deployment(cluster, replicas=4)
        await cluster.patch(web, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}})
        await cluster.stop("loops")
        cluster.start("loops")

        async def is_rolled() -> bool:
            status = await status_of(cluster, web)
            return 4 == status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas")

        await cluster.eventually(is_rolled)
        return cluster.writes

    return run_cluster(check, seed=seed, processes=PROCESSES)


def test_the_same_seed_gives_the_same_sequence_of_writes_twice() -> None:
    """Nodes, scheduler, loops and a crash among them: two runs write the same requests in the same order."""
    first, second = a_rollout_with_a_crash(seed=7), a_rollout_with_a_crash(seed=7)

    assert 60 < len(first)
    assert first == second
