"""Faults as objects: nodes that fail, are cut off or slow, and containers that misbehave, in an in-process cluster."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from kubelet_sim.faults.definition import FAULTS, definition
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import ApiError, Invalid
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, LEASES, NODES
from kubeloop.apimachinery.times import format_time, moment_after, parse_time
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_documented_pods import DOCUMENTS
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running, writes_to


def a_fault(type_: str, name: str = "trouble", **spec: Any) -> Object:
    metadata = {"name": name}
    return {
        "apiVersion": FAULTS.api_version,
        "kind": FAULTS.kind,
        "metadata": metadata,
        "spec": {"type": type_, **spec},
    }


FAULTS_OF_THE_PAGE = [document for document in DOCUMENTS if document["kind"] == FAULTS.kind]
NODE_0 = {"names": ["node-0"]}


def run_faults(check: Callable[[Cluster], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def with_nodes(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        await cluster.eventually(partial(phase_is_served, cluster))
        await check(cluster)

    run_nodes(with_nodes, nodes=2, faults=True, **settings)


async def phase_is_served(cluster: Cluster) -> bool:
    try:
        await cluster.api.list(FAULTS)
    except ApiError:
        return False
    return True


async def inject(cluster: Cluster, fault: Object) -> Object:
    created = await cluster.api.create(FAULTS, fault)
    await cluster.clock.sleep(1)
    return created


async def remove(cluster: Cluster, name: str = "trouble") -> None:
    await cluster.api.delete(FAULTS, name)


async def status_of(cluster: Cluster, name: str = "trouble") -> Object:
    return (await cluster.api.get(FAULTS, name)).get("status") or {}


async def a_running_pod(cluster: Cluster, annotations: dict[str, str] | None = None, **container: Any) -> Object:
    containers = [{"name": "c", "image": "i", **container}]
    pod = await cluster.create(pod_on("node-0", containers=containers).annotations(annotations or {}))
    await cluster.eventually(partial(running, cluster, pod))
    return pod


async def container_of(cluster: Cluster, pod: Object) -> Object:
    (container,) = (await cluster.read(pod))["status"]["containerStatuses"]
    return container


@pytest.mark.parametrize("type_", ["NodeDown", "NodePartitioned"])
def test_a_node_that_is_cut_off_says_nothing(type_: str) -> None:
    """No heartbeat, no status; the other one goes on. Once the fault is gone the node is back."""

    async def check(cluster: Cluster) -> None:
        await cluster.clock.sleep(15)
        await inject(cluster, a_fault(type_, nodes=NODE_0))
        before = len(writes_to(cluster, "node-0"))
        late = await cluster.create(pod_on("node-0", "late"))
        await cluster.clock.sleep(60)

        assert before == len(writes_to(cluster, "node-0"))
        assert "startTime" not in (await cluster.read(late))["status"]
        assert {"observedGeneration": 1, "phase": "Active", "nodes": 1, "pods": 0} == await status_of(cluster)
        renewed = (await cluster.api.get(LEASES, "node-1", "kube-node-lease"))["spec"]["renewTime"]
        assert renewed > (await cluster.api.get(LEASES, "node-0", "kube-node-lease"))["spec"]["renewTime"]
        await remove(cluster)
        await cluster.eventually(partial(running, cluster, late), within_seconds=20)

    run_faults(check)


def test_pods_go_on_while_their_node_is_cut_off() -> None:
    """What happened meanwhile shows afterwards, at the time at which it happened; nothing was restarted for it."""

    async def check(cluster: Cluster) -> None:
        pod = await a_running_pod(cluster)
        ending = await cluster.create(
            pod_on("node-0", "ending", restartPolicy="Never").annotations({"kubeloop.io/exit-after": "30s"})
        )
        await cluster.eventually(partial(running, cluster, ending))
        await inject(cluster, a_fault("NodePartitioned", nodes=NODE_0))
        await cluster.clock.sleep(100)
        assert "Running" == (await cluster.read(ending))["status"]["phase"]
        await remove(cluster)
        await cluster.clock.sleep(2)

        assert 0 == (await container_of(cluster, pod))["restartCount"]
        terminated = (await container_of(cluster, ending))["state"]["terminated"]
        started, finished = terminated["startedAt"], terminated["finishedAt"]
        assert format_time(moment_after(parse_time(started), 30)) == finished

    run_faults(check)


def test_nothing_survives_an_outage() -> None:
    """Containers are found dead when the node is up again, and restart as their policies say."""

    async def check(cluster: Cluster) -> None:
        pod = await a_running_pod(cluster)
        once = await cluster.create(pod_on("node-0", "once", restartPolicy="Never"))
        await cluster.eventually(partial(running, cluster, once))
        await inject(cluster, a_fault("NodeDown", nodes=NODE_0, duration="40s"))
        assert "Active" == (await status_of(cluster))["phase"]
        await cluster.clock.sleep(45)

        assert "Over" == (await status_of(cluster))["phase"]
        container = await container_of(cluster, pod)
        assert (1, "Unknown", 255) == (
            container["restartCount"],
            container["lastState"]["terminated"]["reason"],
            container["lastState"]["terminated"]["exitCode"],
        )
        assert "Failed" == (await cluster.read(once))["status"]["phase"]

    run_faults(check)


def test_a_reboot_is_told() -> None:
    """By an event and by another boot id, once, and not by the other nodes; a restart of the process keeps it."""

    async def check(cluster: Cluster) -> None:
        ids = [await boot_id(cluster, name) for name in ("node-0", "node-1")]
        await inject(cluster, a_fault("NodeDown", nodes=NODE_0, duration="10s"))
        await cluster.clock.sleep(400)

        after = await boot_id(cluster, "node-0")
        assert (True, ids[1]) == (after != ids[0], await boot_id(cluster, "node-1"))
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)
        await cluster.clock.sleep(400)
        assert after == await boot_id(cluster, "node-0")
        told = [(one["type"], one["message"], one["count"]) for one in await reboots(cluster)]
        assert [("Warning", f"Node node-0 has been rebooted, boot id: {after}", 1)] == told

    run_faults(check)


async def boot_id(cluster: Cluster, node: str) -> str:
    return str((await cluster.api.get(NODES, node))["status"]["nodeInfo"]["bootID"])


async def reboots(cluster: Cluster) -> list[Object]:
    return [one for one in await cluster.list(EVENTS) if one["reason"] == "Rebooted"]


def test_a_slow_node_comes_late() -> None:
    """Its pods start and its heartbeats come so much later."""

    async def check(cluster: Cluster) -> None:
        await inject(cluster, a_fault("NodeSlow", nodes=NODE_0, delay="20s"))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(18)
        assert not (await cluster.read(pod))["status"].get("startTime")
        await cluster.eventually(partial(running, cluster, pod), within_seconds=60)

    run_faults(check)


def test_containers_misbehave_from_when_the_fault_says() -> None:
    """Those of the pods that it selects; when it is removed they are well again."""

    async def check(cluster: Cluster) -> None:
        probe = {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 1}
        said = {"kubeloop.io/readiness.c": "pass"}
        pod = await a_running_pod(cluster, said, readinessProbe=probe)
        other = await cluster.create(pod_on("node-0", "other").labels(app="other"))
        await cluster.eventually(partial(running, cluster, other))
        await cluster.clock.sleep(100)
        selector = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
        target = {"namespace": "default", "selector": selector}
        await inject(cluster, a_fault("PodBehaviour", pods=target, behaviour={"readiness": "fail@10s"}))
        await cluster.clock.sleep(8)
        assert (await container_of(cluster, pod))["ready"]
        await cluster.clock.sleep(7)

        assert not (await container_of(cluster, pod))["ready"]
        assert is_true(conditions_of(await cluster.read(other)), "Ready")
        assert {"observedGeneration": 1, "phase": "Active", "nodes": 0, "pods": 1} == await status_of(cluster)
        await remove(cluster)
        await cluster.clock.sleep(6)
        assert (await container_of(cluster, pod))["ready"]

    run_faults(check)


def test_a_container_that_ran_for_long_ends_by_a_fault() -> None:
    """So long after the fault came, and not in the past."""

    async def check(cluster: Cluster) -> None:
        pod = await a_running_pod(cluster)
        await cluster.clock.sleep(300)
        fault = a_fault("PodBehaviour", pods={}, behaviour={"exit-after": "10s", "exit-code": "3"}, duration="12s")
        await inject(cluster, fault)
        await cluster.clock.sleep(8)
        assert 0 == (await container_of(cluster, pod))["restartCount"]
        await cluster.clock.sleep(6)

        container = await container_of(cluster, pod)
        assert (1, 3) == (container["restartCount"], container["lastState"]["terminated"]["exitCode"])

    run_faults(check)


def test_a_restarted_process_keeps_the_node_cut_off() -> None:
    """It knows the faults before it plays a node."""

    async def check(cluster: Cluster) -> None:
        await inject(cluster, a_fault("NodePartitioned", nodes=NODE_0))
        await cluster.stop(KUBELET)
        before = len(writes_to(cluster, "node-0"))
        cluster.start(KUBELET)
        await cluster.clock.sleep(60)

        assert before == len(writes_to(cluster, "node-0"))

    run_faults(check)


def test_a_fault_that_lies_ahead_waits() -> None:
    """Pending, then active, then over."""

    async def check(cluster: Cluster) -> None:
        start = format_time(moment_after(cluster.clock.now(), 20))
        await inject(cluster, a_fault("NodeDown", nodes=NODE_0, startTime=start, duration="20s"))
        phases = []
        for _ in range(3):
            phases.append((await status_of(cluster))["phase"])
            await cluster.clock.sleep(25)

        assert ["Pending", "Active", "Over"] == phases

    run_faults(check)


@pytest.mark.parametrize("fault", FAULTS_OF_THE_PAGE, ids=lambda fault: fault["metadata"]["name"])
def test_each_documented_fault_works(fault: Object) -> None:
    """As the page shows it: it comes into force and hits a node or a pod."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0").labels(app="web"))
        await cluster.eventually(partial(running, cluster, pod))
        await inject(cluster, fault)

        status = await status_of(cluster, fault["metadata"]["name"])
        assert ("Active", 1) == (status["phase"], status["nodes"] + status["pods"])

    run_faults(check)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"type": "NodeDown"}, "a fault of nodes needs nodes"),
        ({"type": "NodeSlow", "nodes": NODE_0}, "NodeSlow needs a delay"),
        ({"type": "PodBehaviour", "pods": {}}, "needs pods and behaviour"),
        ({"type": "PodBehaviour", "pods": {}, "behaviour": {"explode": "now"}}, "may say: exit-after"),
        ({"type": "Flood", "nodes": NODE_0}, "Unsupported value"),
        ({"type": "NodeDown", "nodes": NODE_0, "duration": "long"}, "duration"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: Object, why: str) -> None:
    """By the definition, with what would do."""

    async def check(cluster: Cluster) -> None:
        with pytest.raises(Invalid) as caught:
            await cluster.api.create(FAULTS, {**a_fault("NodeDown"), "spec": spec})
        assert why in str(caught.value)

    run_faults(check)


def test_what_only_the_nodes_understand_is_said_in_the_status() -> None:
    """The fault never comes into force."""

    async def check(cluster: Cluster) -> None:
        await inject(cluster, a_fault("PodBehaviour", pods={}, behaviour={"readiness": "perhaps"}))

        status = await status_of(cluster)
        assert "Invalid" == status["phase"]
        assert "'perhaps' is no outcome of a check" in status["message"]

    run_faults(check)


def test_the_kind_may_come_and_go() -> None:
    """Without --faults it is watched as soon as somebody defines it; with the definition all faults are healed."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        assert not await phase_is_served(cluster)
        await cluster.api.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
        await cluster.eventually(partial(phase_is_served, cluster))
        await inject(cluster, a_fault("NodePartitioned", nodes=NODE_0))
        assert "Active" == (await status_of(cluster))["phase"]
        await cluster.api.delete(CUSTOM_RESOURCE_DEFINITIONS, str(FAULTS))
        await cluster.clock.sleep(5)
        since = len(writes_to(cluster, "/leases/node-0"))
        await cluster.clock.sleep(30)
        assert since < len(writes_to(cluster, "/leases/node-0"))

    run_nodes(check, nodes=2)


def test_every_field_is_explained() -> None:
    """`kubectl explain fault.spec` is where people look first; a selector has the fields that it has everywhere."""
    [version] = definition()["spec"]["versions"]

    def silent(schema: Object, path: str) -> list[str]:
        below = {} if path.endswith("selector") else schema.get("properties") or {}
        deeper = [name for field, one in below.items() for name in silent(one, f"{path}.{field}")]
        return deeper if schema.get("description") else [path, *deeper]

    assert [] == silent(version["schema"]["openAPIV3Schema"], "fault")


def test_back_off_does_not_survive_an_outage() -> None:
    """A container that crashed again and again is started at once when its node is up again, and backs off from
    the beginning.
    """

    async def check(cluster: Cluster) -> None:
        crashes = {"kubeloop.io/exit-after": "6s", "kubeloop.io/exit-code": "1"}
        pod = await a_running_pod(cluster, crashes)
        await cluster.clock.sleep(200)
        before = await container_of(cluster, pod)
        assert "back-off 2m40s" in before["state"]["waiting"]["message"]
        await inject(cluster, a_fault("NodeDown", nodes=NODE_0, duration="10s"))
        await cluster.clock.sleep(11)

        after = await container_of(cluster, pod)
        assert (before["restartCount"] + 1, ["running"]) == (after["restartCount"], list(after["state"]))
        await cluster.clock.sleep(8)
        assert "back-off 10s" in (await container_of(cluster, pod))["state"]["waiting"]["message"]

    run_faults(check)
