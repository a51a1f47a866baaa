"""Nodes that run out of memory or disk: who goes, what is told, and how long it lasts, in an in-process cluster."""

from __future__ import annotations

from functools import partial

import pytest

from kubelet_sim import eviction
from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import EVENTS, NODES, PODS
from kubeloop.apimachinery.times import parse_time
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod, state_of
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running


def test_a_leaking_container_is_killed_and_restarted() -> None:
    """OOMKilled with 137 when its usage passes its limit, and its time begins anew."""
    container = a_container(resources={"limits": {"memory": "100Mi"}})
    played = PlayedPod(a_pod(container, annotations={"kubeloop.io/memory-usage": "50Mi@0s,150Mi@60s"}))

    before = played.until(29)["containerStatuses"][0]
    after = played.until(32)["containerStatuses"][0]

    assert (0, 1) == (before["restartCount"], after["restartCount"])
    terminated = after["lastState"]["terminated"]
    assert ("OOMKilled", 137) == (terminated["reason"], terminated["exitCode"])


@pytest.mark.parametrize(
    ("usage", "limit", "seconds", "state"),
    [
        ("100Mi", "100Mi", 60, "running"),  # as much as it may
        ("10Mi@0s,100Mi@9s", "100Mi", 9.5, "running"),
        ("101Mi", "100Mi", 5, "CrashLoopBackOff"),
        ("10Mi@20s,200Mi@20s", "100Mi", 19, "running"),  # a jump
        ("10Mi@20s,200Mi@20s", "100Mi", 20.5, "OOMKilled"),
        ("200Mi@0s,10Mi@1m", None, 60, "running"),  # without a limit
    ],
)
def test_the_limit_is_what_counts(usage: str, limit: str | None, seconds: float, state: str) -> None:
    """Nothing happens at the limit, and all above it."""
    resources = {"resources": {"limits": {"memory": limit}}} if limit else {}
    played = PlayedPod(a_pod(a_container(**resources), annotations={"kubeloop.io/memory-usage": usage}))

    assert state == state_of(played.until(seconds))


def a_hungry(name: str, usage: str, request: str = "100Mi", **spec: object) -> Object:
    pod = pod_on("node-0", name, **spec).annotations({"kubeloop.io/memory-usage": usage})
    return pod.requests(memory=request) if request else pod


async def phase(cluster: Cluster, pod: Object) -> str:
    return str((await cluster.read(pod))["status"].get("phase"))


async def pressure(cluster: Cluster, type_: str = "MemoryPressure") -> str:
    node = await cluster.api.get(NODES, "node-0")
    return str((get_condition(conditions_of(node), type_) or {})["reason"])


def test_the_pod_that_uses_more_than_it_asked_for_goes() -> None:
    """In a kubelet's words, with a condition for its owner; the node says that it is short, and five minutes later
    that it is well again.
    """

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        modest = await cluster.create(a_hungry("modest", "300Mi", request="300Mi"))
        greedy = await cluster.create(a_hungry("greedy", "100Mi@30s,800Mi@30s"))
        for pod in (modest, greedy):
            await cluster.eventually(partial(running, cluster, pod))
        assert "KubeletHasSufficientMemory" == await pressure(cluster)
        await cluster.clock.sleep(45)

        status = (await cluster.read(greedy))["status"]
        assert ("Failed", "Evicted") == (status["phase"], status["reason"])
        assert (
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
            "Container web was using 800Mi, request is 100Mi, has larger consumption of memory. "
        ) == status["message"]
        assert "TerminationByKubelet" == (get_condition(status["conditions"], "DisruptionTarget") or {})["reason"]
        assert "Running" == await phase(cluster, modest)
        assert "KubeletHasInsufficientMemory" == await pressure(cluster)
        events = {event["reason"]: event for event in await cluster.list(EVENTS)}
        assert {"Evicted", "EvictionThresholdMet", "NodeHasInsufficientMemory"} <= events.keys()
        assert {
            "offending_containers": "web",
            "offending_containers_usage": "800Mi",
            "starved_resource": "memory",
        } == events["Evicted"]["metadata"]["annotations"]
        await cluster.clock.sleep(320)
        assert "KubeletHasSufficientMemory" == await pressure(cluster)

    run_nodes(check, nodes=1, node_memory="1Gi")


def test_a_node_under_pressure_refuses_pods_that_request_nothing() -> None:
    """The others are taken."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await cluster.eventually(partial(running, cluster, await cluster.create(a_hungry("greedy", "950Mi"))))
        await cluster.clock.sleep(15)
        plain = pod_on("node-0", "plain")
        plain["status"] = {"qosClass": "BestEffort"}
        refused = await cluster.create(plain)
        taken = await cluster.create(a_hungry("taken", "1Mi"))
        await cluster.eventually(partial(running, cluster, taken))

        status = (await cluster.read(refused))["status"]
        assert "Pod was rejected: The node had condition: [MemoryPressure]. " == status["message"]

    run_nodes(check, nodes=1, node_memory="1Gi")


def test_a_pod_that_writes_more_than_it_may_goes() -> None:
    """Its limit counts, whatever the disk has left."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        container = {"name": "c", "image": "i", "resources": {"limits": {"ephemeral-storage": "1Gi"}}}
        said = {"kubeloop.io/ephemeral-storage-usage": "0@0s,2Gi@1m"}
        pod = await cluster.create(pod_on("node-0", "writes", containers=[container]).annotations(said))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(60)

        message = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
        assert message == (await cluster.read(pod))["status"]["message"]
        assert "KubeletHasNoDiskPressure" == await pressure(cluster, "DiskPressure")

    run_nodes(check, nodes=1)


def test_pods_go_one_by_one_until_there_is_enough() -> None:
    """Not all of those that use too much."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pods = [await cluster.create(a_hungry(f"p{i}", "10Mi@30s,400Mi@30s", "10Mi")) for i in range(4)]
        for pod in pods:
            await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(100)

        assert ["Failed", "Failed", "Running", "Running"] == sorted([await phase(cluster, pod) for pod in pods])

    run_nodes(check, nodes=1, node_memory="1Gi")


def test_what_nobody_talks_of_is_not_looked_at() -> None:
    """Pods without a word on their usage put no node under pressure, be it ever so small."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        for i in range(5):
            await cluster.create(pod_on("node-0", f"p{i}"))
        await cluster.clock.sleep(60)

        assert all(is_true(conditions_of(pod), "Ready") for pod in await cluster.list(PODS))

    run_nodes(check, nodes=1, node_memory="64Mi")


NOW = parse_time("2026-01-01T00:10:00Z")


def a_running(name: str, usage: str, request: str, priority: int = 0) -> Object:
    started = {"name": "c", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    return {
        "metadata": {"name": name, "uid": name, "annotations": {"kubeloop.io/memory-usage": usage}},
        "spec": {"priority": priority, "containers": [{"name": "c", "resources": {"requests": {"memory": request}}}]},
        "status": {"containerStatuses": [started]},
    }


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        ([a_running("in", "50Mi", "90Mi"), a_running("over", "60Mi", "50Mi")], ["over", "in"]),
        ([a_running("vip", "90Mi", "1Mi", 10), a_running("any", "20Mi", "1Mi")], ["any", "vip"]),
        ([a_running("less", "30Mi", "10Mi"), a_running("more", "60Mi", "10Mi")], ["more", "less"]),
        ([a_running("system", "60Mi", "1Mi", 2_000_000_000), a_running("in", "1Mi", "2Mi")], ["in"]),
    ],
)
def test_who_goes_first(pods: list[Object], order: list[str]) -> None:
    """Excess before priority before amount; what the cluster cannot do without stays."""
    assert order == [name_of(pod) for pod in eviction.ranked(pods, "memory", NOW)]


def a_writing(said: dict[str, str], limits: dict[str, str], priority: int = 0, **empty_dir: str) -> Object:
    """Containers `c` and `d`, and a volume `v`; `limits` by container."""
    containers = [{"name": one, "resources": {"limits": {"ephemeral-storage": limits[one]}}} for one in limits]
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return {
        "metadata": {"name": "p", "uid": "p", "annotations": {f"kubeloop.io/{word}": said[word] for word in said}},
        "spec": {
            "priority": priority,
            "containers": containers or [{"name": "c"}],
            "volumes": [{"name": "v", "emptyDir": empty_dir}],
        },
        "status": {
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [{"name": one, "state": running} for one in limits or ("c",)],
        },
    }


OVER_VOLUME = 'Usage of EmptyDir volume "v" exceeds the limit "1Gi". '
OVER_POD = "Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. "
OVER_CONTAINER = 'Container c exceeded its local ephemeral storage limit "1Gi". '
STORAGE, VOLUME = "ephemeral-storage-usage.c", "volume-usage.v"


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (a_writing({VOLUME: "1Gi"}, {}, sizeLimit="1Gi"), ""),
        (a_writing({VOLUME: "0@0s,2Gi@1m"}, {}, sizeLimit="1Gi"), OVER_VOLUME),
        (a_writing({"volume-usage": "150%"}, {}, sizeLimit="1024Mi"), OVER_VOLUME),
        (a_writing({VOLUME: "2Gi"}, {}, sizeLimit="1Gi", medium="Memory"), OVER_VOLUME),
        (a_writing({VOLUME: "2Gi"}, {}, sizeLimit="0"), ""),
        (a_writing({VOLUME: "3Gi"}, {"c": "2Gi"}), OVER_POD),  # what is in volumes counts for the pod
        (a_writing({VOLUME: "3Gi"}, {"c": "2Gi"}, medium="Memory"), ""),
        (a_writing({STORAGE: "1500Mi", VOLUME: "600Mi"}, {"c": "1Gi", "d": "1Gi"}), OVER_POD),
        (a_writing({STORAGE: "1500Mi"}, {"c": "1Gi", "d": "1Gi"}), OVER_CONTAINER),
        (a_writing({VOLUME: "1500Mi"}, {"c": "1Gi", "d": "1Gi"}), ""),
        (a_writing({STORAGE: "1500Mi"}, {"c": "1Gi"}, priority=2_000_000_000), ""),
    ],
)
def test_who_writes_more_than_it_may(pod: Object, why: str) -> None:
    """Volumes, then the pod, then its containers; critical pods stay."""
    verdict = eviction.over_limit(pod, NOW)

    assert why == (verdict.message if verdict else "")


def test_what_is_in_volumes_fills_the_disk() -> None:
    """As what containers write; not what is kept in memory."""
    node = {"status": {"capacity": {"ephemeral-storage": "10Gi", "memory": "8Gi"}}}
    full, in_memory = a_writing({VOLUME: "9500Mi"}, {}), a_writing({VOLUME: "9500Mi"}, {}, medium="Memory")

    assert ["DiskPressure"] == [one.condition for one in eviction.shortages(node, [full], NOW)]
    assert [] == eviction.shortages(node, [in_memory], NOW)


def test_a_pod_with_resources_of_its_own_says_what_it_used_as_a_whole() -> None:
    """Beside its containers."""
    pod = a_running("p", "60Mi", "10Mi")
    pod["spec"]["resources"] = {"requests": {"memory": "50Mi"}}
    verdict = eviction.verdict(pod, eviction.Shortage("memory", 100 * 2**20, 0), NOW)

    assert (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
        "Pod p was using 60Mi, request is 50Mi, has larger consumption of memory. "
        "Container c was using 60Mi, request is 10Mi, has larger consumption of memory. "
    ) == verdict.message
    assert {
        "offending_pod": "p",
        "offending_pod_usage": "60Mi",
        "offending_containers": "c",
        "offending_containers_usage": "60Mi",
        "starved_resource": "memory",
    } == verdict.annotations


def test_a_pod_that_stays_within_its_requests_has_no_container_to_blame() -> None:
    """It is evicted when nobody else is left, and the annotations name nobody."""
    verdict = eviction.verdict(a_running("p", "60Mi", "80Mi"), eviction.Shortage("memory", 100 * 2**20, 0), NOW)

    assert {
        "offending_containers": "",
        "offending_containers_usage": "",
        "starved_resource": "memory",
    } == verdict.annotations


def test_a_pod_whose_volume_overflows_goes() -> None:
    """Time counts from the pod's start; what the annotation says of no volume is told."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        said = {"kubeloop.io/volume-usage.cache": "0@0s,2Gi@1m", "kubeloop.io/volume-usage.none": "1Gi"}
        volumes = [{"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}}]
        pod = await cluster.create(pod_on("node-0", "overflows", volumes=volumes).annotations(said))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(60)

        status = (await cluster.read(pod))["status"]
        assert ("Evicted", 'Usage of EmptyDir volume "cache" exceeds the limit "1Gi". ') == (
            status["reason"],
            status["message"],
        )
        told = [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "InvalidBehaviour"]
        assert ["annotation kubeloop.io/volume-usage.none: the pod has no such emptyDir volume"] == told

    run_nodes(check, nodes=1)
