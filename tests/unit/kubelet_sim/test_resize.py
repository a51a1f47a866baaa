"""Running pods that are given other resources, and ephemeral containers, in an in-process cluster."""

from __future__ import annotations

from functools import partial

import pytest

from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, generation_of
from kubeloop.apimachinery.resource import EVENTS, PODS
from kubeloop.client.api import STRATEGIC
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod, state_of
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running


def sized(name: str, cpu: str, **fields: object) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **fields}
    return pod_on("node-0", name, containers=[container])


async def resize(cluster: Cluster, pod: Object, cpu: str) -> Object:
    """The pod as answered."""
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    name = pod["metadata"]["name"]
    return await cluster.api.patch(PODS, name, patch, "default", patch_type=STRATEGIC, subresource="resize")


async def container_of(cluster: Cluster, pod: Object) -> Object:
    (status,) = (await cluster.read(pod))["status"]["containerStatuses"]
    return status


async def condition(cluster: Cluster, pod: Object, type_: str) -> Object:
    return dict(get_condition(conditions_of(await cluster.read(pod)), type_) or {})


async def messages(cluster: Cluster, reason: str) -> list[str]:
    return [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == reason]


def test_a_pod_is_resized_while_it_runs() -> None:
    """At first it is in progress, then the container has what was asked for and was not restarted."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(sized("web", "500m"))
        await cluster.eventually(partial(running, cluster, pod))
        asked = await resize(cluster, pod, "1500m")
        await cluster.clock.sleep(0.5)

        progress = await condition(cluster, pod, "PodResizeInProgress")
        assert ("True", generation_of(asked)) == (progress["status"], progress["observedGeneration"])
        container = await container_of(cluster, pod)
        assert ("500m", "1500m") == (container["resources"]["requests"]["cpu"], container["allocatedResources"]["cpu"])
        await cluster.clock.sleep(2)
        container = await container_of(cluster, pod)
        assert ("1500m", 0) == (container["resources"]["requests"]["cpu"], container["restartCount"])
        assert {} == await condition(cluster, pod, "PodResizeInProgress")
        summary = '{"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}],"generation":%d}'
        told = summary % generation_of(asked)
        assert [f"Pod resize started: {told}"] == await messages(cluster, "ResizeStarted")
        assert [f"Pod resize completed: {told}"] == await messages(cluster, "ResizeCompleted")

    run_nodes(check, nodes=1)


def test_a_resize_waits_for_room() -> None:
    """Deferred, with the reason; once another pod is gone it is done. What is allocated stays meanwhile."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        other = await cluster.create(sized("other", "2"))
        pod = await cluster.create(sized("web", "1"))
        for one in (other, pod):
            await cluster.eventually(partial(running, cluster, one))
        await resize(cluster, pod, "3")
        await cluster.clock.sleep(5)

        pending = await condition(cluster, pod, "PodResizePending")
        why = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
        assert ("Deferred", why) == (pending["reason"], pending["message"])
        assert "1" == (await container_of(cluster, pod))["allocatedResources"]["cpu"]
        assert [1] == [one.get("count") for one in await cluster.list(EVENTS) if one["reason"] == "ResizeDeferred"]
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)  # it remembers what it had allocated
        await cluster.clock.sleep(5)
        assert "1" == (await container_of(cluster, pod))["allocatedResources"]["cpu"]
        await cluster.delete(other)
        await cluster.clock.sleep(5)
        assert "3" == (await container_of(cluster, pod))["resources"]["requests"]["cpu"]
        assert {} == await condition(cluster, pod, "PodResizePending")

    run_nodes(check, nodes=1)


async def resize_as_a_whole(cluster: Cluster, pod: Object, cpu: str) -> None:
    patch = {"spec": {"resources": {"requests": {"cpu": cpu}}}}
    await cluster.api.patch(PODS, "web", patch, "default", patch_type=STRATEGIC, subresource="resize")


async def of_the_whole(cluster: Cluster, pod: Object) -> tuple[str, str]:
    """What it has, and what it is allocated."""
    status = (await cluster.read(pod))["status"]
    return status["resources"]["requests"]["cpu"], status["allocatedResources"]["cpu"]


def test_a_pod_is_resized_as_a_whole() -> None:
    """Its containers keep theirs; the node's room counts, also after its process was restarted."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(sized("web", "500m").spec(resources={"requests": {"cpu": "1"}}))
        await cluster.eventually(partial(running, cluster, pod))
        await resize_as_a_whole(cluster, pod, "2")
        await cluster.clock.sleep(0.5)
        under_way = await of_the_whole(cluster, pod)
        await cluster.clock.sleep(2)
        done = await of_the_whole(cluster, pod)
        await cluster.create(sized("other", "1"))
        await cluster.clock.sleep(2)
        await resize_as_a_whole(cluster, pod, "4")
        await cluster.clock.sleep(2)
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)
        await cluster.clock.sleep(5)

        assert (("1", "2"), ("2", "2"), ("2", "2")) == (under_way, done, await of_the_whole(cluster, pod))
        assert "500m" == (await container_of(cluster, pod))["resources"]["requests"]["cpu"]
        why = "Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000"
        assert why == (await condition(cluster, pod, "PodResizePending"))["message"]

    run_nodes(check, nodes=1)


def test_a_container_may_ask_to_be_restarted() -> None:
    """By its resize policy; the new run has the new resources."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
        pod = await cluster.create(sized("web", "1", resizePolicy=policy))
        await cluster.eventually(partial(running, cluster, pod))
        await resize(cluster, pod, "2")
        await cluster.clock.sleep(5)

        container = await container_of(cluster, pod)
        assert ("2", 1) == (container["resources"]["requests"]["cpu"], container["restartCount"])
        assert ["Container c resize requires restart"] == await messages(cluster, "Killing")
        assert {} == await condition(cluster, pod, "PodResizeInProgress")

    run_nodes(check, nodes=1)


def test_freed_room_goes_to_others() -> None:
    """A pod that was made smaller leaves the rest to whoever comes."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(sized("web", "3"))
        await cluster.eventually(partial(running, cluster, pod))
        await resize(cluster, pod, "1")
        await cluster.clock.sleep(2)
        await cluster.eventually(partial(running, cluster, await cluster.create(sized("other", "3"))))

    run_nodes(check, nodes=1)


def with_debugger(*command: str) -> PlayedPod:
    """A pod that runs, and a debugger that joins it."""
    played = PlayedPod(a_pod())
    played.until(1)
    played.obj["spec"]["ephemeralContainers"] = [a_container("debugger", command=list(command))]
    played.join_debuggers()
    return played


@pytest.mark.parametrize(
    ("command", "kind"), [(["sh"], "running"), (["true"], "terminated"), (["sh", "-c", "exit 3"], "terminated")]
)
def test_a_debugger_joins_a_running_pod(command: list[str], kind: str) -> None:
    """It has a status of its own, is never restarted, and the pod is as ready as before."""
    played = with_debugger(*command)

    status = played.until(60)

    (debugger,) = status["ephemeralContainerStatuses"]
    assert ([kind], False, 0) == (list(debugger["state"]), debugger["ready"], debugger["restartCount"])
    assert "started" not in debugger
    assert ("Running", "True") == (status["phase"], played.condition("Ready")[0])
    assert ["c"] == [one["name"] for one in status["containerStatuses"]]


def test_a_debugger_keeps_no_pod_alive() -> None:
    """The pod ends when its own containers have."""
    played = PlayedPod(a_pod(a_container(command=["sleep", "5"]), restartPolicy="Never"))
    played.until(1)
    played.obj["spec"]["ephemeralContainers"] = [a_container("debugger")]
    played.join_debuggers()

    played.until(20)
    status = played.until(22)

    assert ("Succeeded", "Completed") == (status["phase"], state_of(status))
    assert ["terminated"] == list(status["ephemeralContainerStatuses"][0]["state"])


def test_a_debugger_may_look_at_a_pod_that_does_not_start() -> None:
    """It waits for no init container."""
    played = PlayedPod(a_pod(initContainers=[a_container("init", command=["sleep", "1000"])]))
    played.until(1)
    played.obj["spec"]["ephemeralContainers"] = [a_container("debugger")]
    played.join_debuggers()

    status = played.until(5)

    assert ("Pending", ["running"]) == (status["phase"], list(status["ephemeralContainerStatuses"][0]["state"]))
