"""Nodes in an in-process cluster: registration, heartbeats, restarts, the life and the end of pods."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object, ObjectKey, labels_of
from kubeloop.apimachinery.resource import EVENTS, LEASES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS
from kubeloop.client.informer import Informer
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from kubeloop.testing.cluster import Cluster, Write, a_loop, run_cluster

KUBELET = "kubelet"


def run_nodes(check: Callable[[Cluster], Coroutine[Any, Any, None]], nodes: int = 3, **settings: Any) -> None:
    add_to = partial(simulator.add_to, settings=Settings(nodes=nodes, **settings))
    run_cluster(check, processes={KUBELET: a_loop(add_to)})


async def ready_nodes(cluster: Cluster, count: int = 3) -> list[Object]:
    nodes = await cluster.list(NODES)
    are_ready = [is_true(conditions_of(node), "Ready") for node in nodes]
    return nodes if are_ready.count(True) == count else []


def pod_on(node: str, name: str = "web", **spec: object) -> PodBuilder:
    return a_pod(name).on(node).spec(automountServiceAccountToken=False, **spec)


async def running(cluster: Cluster, pod: Object) -> Object | None:
    current = await cluster.read(pod)
    return current if is_true(conditions_of(current), "Ready") else None


def writes_to(cluster: Cluster, part: str, process: str = KUBELET) -> list[Write]:
    return [write for write in cluster.writes if write.process == process and part in write.target]


def test_nodes_register_as_kubelets_do() -> None:
    """Each has its labels, a zone in turn, capacity, four conditions and an address of its own."""

    async def check(cluster: Cluster) -> None:
        nodes = await cluster.eventually(lambda: ready_nodes(cluster, 4))

        assert ["zone-a", "zone-b", "zone-c", "zone-a"] == [
            labels_of(node)["topology.kubernetes.io/zone"] for node in nodes
        ]
        assert 4 == len({node["status"]["addresses"][0]["address"] for node in nodes})
        assert {"cpu": "2", "memory": "8Gi", "pods": "110", "ephemeral-storage": "100Gi"} == nodes[0]["status"][
            "capacity"
        ]
        assert ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"] == [
            condition["type"] for condition in nodes[0]["status"]["conditions"]
        ]

    run_nodes(check, nodes=4, node_cpu="2")


def test_an_existing_node_keeps_what_users_gave_it() -> None:
    """Labels and taints of others stay; the node becomes ready and says so."""

    async def check(cluster: Cluster) -> None:
        node = a_node("node-0").labels(disk="ssd").tainted("team")
        node["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
        await cluster.stop(KUBELET)
        await cluster.eventually(partial(deleted, cluster, "node-0"))
        await cluster.create(node)
        cluster.start(KUBELET)
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        found = await cluster.api.get(NODES, "node-0")

        assert ("ssd", "zone-a") == (labels_of(found)["disk"], labels_of(found)["topology.kubernetes.io/zone"])
        assert "team" in [taint["key"] for taint in found["spec"]["taints"]]
        await cluster.eventually(partial(has_event, cluster, "NodeReady"))

    run_nodes(check, nodes=1)


async def deleted(cluster: Cluster, name: str) -> bool:
    if name in [node["metadata"]["name"] for node in await cluster.list(NODES)]:
        await cluster.api.delete(NODES, name)
    return True


async def has_event(cluster: Cluster, reason: str) -> bool:
    return reason in [event["reason"] for event in await cluster.list(EVENTS)]


def test_heartbeats_do_not_come_all_at_once() -> None:
    """A lease is written every ten seconds, and the nodes' beats spread over the whole period."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 40))
        await cluster.clock.sleep(60)

        beats = [write.seconds for write in writes_to(cluster, "/leases/") if 20 <= write.seconds < 50]
        per_second = [len([beat for beat in beats if second <= beat < second + 1]) for second in range(20, 50)]
        assert 40 * 30 / 10.4 - 40 <= len(beats) <= 40 * 30 / 10 + 40
        assert max(per_second) <= 12

    run_nodes(check, nodes=40)


def test_heartbeats_that_are_due_at_about_the_same_time_come_together() -> None:
    """A beat waits for the next of the ticks, 0.4 s apart, so that the writes of many nodes come in bundles."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 60))
        await cluster.clock.sleep(40)

        beats = [write.seconds for write in writes_to(cluster, "/leases/") if 20 <= write.seconds < 40]
        moments = {round(beat, 2) for beat in beats}
        assert len(beats) > 100
        assert len(moments) <= 20 / 0.4 + 1

    run_nodes(check, nodes=60)


def test_a_lease_is_a_kubelets() -> None:
    """Held by the node for 40 seconds, and owned by it."""

    async def check(cluster: Cluster) -> None:
        async def lease() -> Object | None:
            return next(iter(await cluster.list(LEASES, "kube-node-lease")), None)

        found = await cluster.eventually(lease)
        node = await cluster.api.get(NODES, "node-0")

        assert ("node-0", 40) == (found["spec"]["holderIdentity"], found["spec"]["leaseDurationSeconds"])
        owner = {"apiVersion": "v1", "kind": "Node", "name": "node-0", "uid": node["metadata"]["uid"]}
        assert [owner] == found["metadata"]["ownerReferences"]

    run_nodes(check, nodes=1)


@pytest.mark.parametrize("cpu", ["4", "0.50", "1500m"])
def test_an_idle_node_writes_little(cpu: str) -> None:
    """Without changes its status is written a few times in half an hour, however its size was spelled."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await cluster.clock.sleep(1800)

        assert 6 <= len(writes_to(cluster, "/nodes/node-0/status")) <= 12

    run_nodes(check, nodes=1, node_cpu=cpu)


def test_a_node_said_to_be_unknown_answers() -> None:
    """When somebody doubts the node, it writes its status at once."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        await cluster.api.patch(NODES, "node-0", patch, subresource="status")

        await cluster.eventually(lambda: ready_nodes(cluster, 1), within_seconds=2)

    run_nodes(check, nodes=1)


def test_a_pod_runs_with_two_writes() -> None:
    """One status when it arrives, one when it runs; every pod has an address of its own."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pods = [await cluster.create(pod_on(f"node-{i % 2}", f"web-{i}")) for i in range(4)]
        found = [await cluster.eventually(partial(running, cluster, pod)) for pod in pods]
        await cluster.settled()

        assert 4 == len({pod["status"]["podIP"] for pod in found})
        assert [2, 2, 2, 2] == [len(writes_to(cluster, f"/pods/web-{i}/status")) for i in range(4)]

    run_nodes(check)


def test_a_deleted_pod_stops_and_goes() -> None:
    """It is seen to stop, is reported as over, and goes long before its grace has passed."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(partial(running, cluster, pod))
        since = len(cluster.writes)
        await cluster.delete(pod)
        await cluster.eventually(partial(is_gone, cluster), within_seconds=2)

        own = [write for write in cluster.writes[since:] if write.process == KUBELET and "/pods/" in write.target]
        assert ["PATCH", "PATCH", "DELETE"] == [write.method for write in own]
        assert "Succeeded" == own[1].body["status"]["phase"]
        assert {"uid": pod["metadata"]["uid"]} == own[2].body["preconditions"]

    run_nodes(check)


async def is_gone(cluster: Cluster) -> bool:
    return not await cluster.list(PODS, "default")


def test_a_pod_is_taken_up_again_after_a_restart() -> None:
    """A process that is started anew finds the pod running, writes nothing about it, and still stops it when asked."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0"))
        before = await cluster.eventually(partial(running, cluster, pod))
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)
        await cluster.clock.sleep(30)

        assert before == await cluster.read(pod)
        other = await cluster.create(pod_on("node-0", "other"))
        found = await cluster.eventually(partial(running, cluster, other))
        assert before["status"]["podIP"] != found["status"]["podIP"]
        await cluster.delete(pod)
        await cluster.delete(other)
        await cluster.eventually(partial(is_gone, cluster), within_seconds=2)

    run_nodes(check)


def test_pods_on_foreign_nodes_are_left_alone() -> None:
    """Nobody writes about a pod whose node is not this process'."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("elsewhere"))
        await cluster.clock.sleep(30)

        assert "Pending" == (await cluster.read(pod))["status"]["phase"]

    run_nodes(check)


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 64000, used: 500, capacity: 4000",
        ),
        (
            {"nodeSelector": {"disk": "ssd"}},
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        ({}, "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"),
    ],
)
def test_a_pod_that_does_not_fit_is_rejected(spec: Object, reason: str, message: str) -> None:
    """It is Failed with the reason, told as an event, and none of its containers is started."""
    room = 1 if reason == "OutOfpods" else 110

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        first = await cluster.create(pod_on("node-0").requests(cpu="500m"))
        await cluster.eventually(partial(running, cluster, first))
        pod = await cluster.create(pod_on("node-0", "other", **spec))

        async def failed() -> Object | None:
            status = (await cluster.read(pod))["status"]
            return status if status["phase"] == "Failed" else None

        status = await cluster.eventually(failed)
        assert (reason, f"Pod was rejected: {message}") == (status["reason"], status["message"])
        assert "containerStatuses" not in status
        await cluster.eventually(partial(has_event, cluster, reason))

    run_nodes(check, node_pods=room)


def test_a_pod_is_not_rejected_for_a_label_of_which_only_others_have_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler's watch may tell of a node before its kubelet's does; a rejection is for good."""
    stale: dict[str, Object] = {}
    get = Informer.get

    def behind(informer: Informer, key: ObjectKey) -> Object | None:
        return stale.get(key.name) if informer.scope.resource == NODES and stale else get(informer, key)

    async def check(cluster: Cluster) -> None:
        nodes = await cluster.eventually(lambda: ready_nodes(cluster))
        stale.update({node["metadata"]["name"]: node for node in nodes})
        await cluster.patch(nodes[0], {"metadata": {"labels": {"disk": "ssd"}}})
        pods = [await cluster.create(pod_on(f"node-{i}", f"p{i}", nodeSelector={"disk": "ssd"})) for i in (0, 1)]

        await cluster.eventually(lambda: running(cluster, pods[0]))
        await cluster.settled()
        assert "NodeAffinity" == (await cluster.read(pods[1]))["status"]["reason"]

    monkeypatch.setattr(Informer, "get", behind)
    run_nodes(check)


def test_a_missing_config_map_holds_a_container_back() -> None:
    """CreateContainerConfigError says what is missing; once it is there the container starts."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        variable = {"name": "K", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "k"}}}
        pod = await cluster.create(pod_on("node-0", containers=[{"name": "c", "image": "i", "env": [variable]}]))

        async def waiting() -> str:
            containers = (await cluster.read(pod))["status"].get("containerStatuses") or [{"state": {}}]
            return (containers[0]["state"].get("waiting") or {}).get("message", "")

        assert 'configmap "cfg" not found' == await cluster.eventually(waiting)
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cfg", "namespace": "default"}}
        await cluster.create({**config_map, "data": {"other": "v"}})
        await cluster.clock.sleep(5)
        assert "couldn't find key k in ConfigMap default/cfg" == await waiting()
        await cluster.patch(config_map, {"data": {"k": "v"}})
        await cluster.eventually(partial(running, cluster, pod), within_seconds=5)

    run_nodes(check)


def test_everything_that_a_pod_misses_is_told_once() -> None:
    """Each of its volumes, and the secrets for its registries, without which it starts all the same."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        volumes = [{"name": "a", "configMap": {"name": "none"}}, {"name": "b", "secret": {"secretName": "none"}}]
        await cluster.create(pod_on("node-0", "waits", volumes=volumes))
        pod = await cluster.create(pod_on("node-0", imagePullSecrets=[{"name": "x"}, {"name": "y"}]))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(10)

        warnings = [event["message"] for event in await cluster.list(EVENTS) if event["type"] == "Warning"]
        assert sorted(warnings) == [
            'MountVolume.SetUp failed for volume "a" : configmap "none" not found',
            'MountVolume.SetUp failed for volume "b" : secret "none" not found',
            "Unable to retrieve some image pull secrets (x, y); attempting to pull the image may not succeed.",
        ]

    run_nodes(check)


def a_claim(volume: str = "", phase: str = "Pending") -> Object:
    meta = {"name": "data", "namespace": "default"}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "status": {"phase": phase}}
    return {**claim, "spec": {**spec, "storageClassName": "", **({"volumeName": volume} if volume else {})}}


def a_volume(mode: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "volume"},
        "spec": {**spec, "volumeMode": mode},
    }


@pytest.mark.parametrize(
    ("claim", "mode", "why"),
    [
        (None, "", 'error processing PVC default/data: failed to fetch PVC from API server: {} "data" not found'),
        (a_claim(), "", "error processing PVC default/data: PVC is not bound"),
        (a_claim("volume", "Bound"), "Block", "volume d has volumeMode Block, but is specified in volumeMounts"),
        (a_claim("volume", "Bound"), "Filesystem", ""),
    ],
)
def test_a_pod_bound_by_hand_waits_for_its_claims(claim: Object | None, mode: str, why: str) -> None:
    """Claims that are not there or not bound, and volumes used as what they are not, are told once."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        for one in (claim, a_volume(mode) if mode else None):
            if one is not None:
                await cluster.create(one)
                if "status" in one:
                    status = {"status": one["status"]}
                    await cluster.api.patch(PERSISTENT_VOLUME_CLAIMS, "data", status, "default", subresource="status")
        mount = {"name": "c", "image": "i", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
        volume = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
        pod = await cluster.create(pod_on("node-0", containers=[mount], volumes=[volume]))
        await cluster.clock.sleep(30)

        assert ("Pending" if why else "Running") == (await cluster.read(pod))["status"]["phase"]
        told = [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "FailedMount"]
        where = "unmounted volumes=[d], unattached volumes=[], failed to process volumes=[d]"
        expected = f"Unable to attach or mount volumes: {where}: {why}".replace("{}", "persistentvolumeclaims")
        assert ([expected] if why else []) == told

    run_nodes(check)


def test_a_finalizer_keeps_the_object_only() -> None:
    """The removal is asked for once; the node does not insist while somebody holds the object."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0").finalizers("example.com/held"))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.delete(pod)
        await cluster.clock.sleep(60)

        assert 1 == len([write for write in writes_to(cluster, "/pods/web") if write.method == "DELETE"])
        assert "Succeeded" == (await cluster.read(pod))["status"]["phase"]

    run_nodes(check)


def test_other_nodes_are_left_alone() -> None:
    """A node of another name is somebody else's."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_node("other-0"))
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        await cluster.clock.sleep(400)

        assert [] == writes_to(cluster, "/nodes/other-0")

    run_nodes(check, nodes=1)


def test_a_node_says_what_its_runtime_can() -> None:
    """As containerd 2 does; saying it costs no writes."""

    async def check(cluster: Cluster) -> None:
        (node,) = await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await cluster.clock.sleep(5)
        before = len(writes_to(cluster, "nodes/"))
        await cluster.clock.sleep(100)

        assert {"supplementalGroupsPolicy": True} == node["status"]["features"]
        handlers = {one.get("name", ""): one["features"] for one in node["status"]["runtimeHandlers"]}
        assert {"", "runc"} == handlers.keys()
        assert {"recursiveReadOnlyMounts": True, "userNamespaces": True} == handlers["runc"]
        assert len(writes_to(cluster, "nodes/")) <= before + 1

    run_nodes(check, nodes=1)
