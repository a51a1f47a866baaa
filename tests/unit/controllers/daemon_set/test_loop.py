"""DaemonSets in a living cluster."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from typing import Any

import pytest

from controllers import daemon_set
from controllers.daemon_set.pod import target_node
from controllers.scheduler import loop as scheduler
from kubeloop.apimachinery.hashing import pod_template_hash
from kubeloop.apimachinery.meta import Object, controller_of, labels_of, name_of
from kubeloop.apimachinery.resource import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS
from kubeloop.testing.builders import a_daemon_set, a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {
    "daemonset": a_loop(daemon_set.add_to),
    "nodes": a_loop(nodes.add_to),
    "scheduler": a_loop(scheduler.add_to),
}
NAMES = ("a", "b", "c")


async def rolled_out(cluster: Cluster, obj: Object, desired: int = len(NAMES)) -> Object:
    """Observed, and a new and available pod on each of so many nodes."""

    async def done() -> bool:
        found = await cluster.read(obj)
        counters = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable")
        is_observed = found["status"].get("observedGeneration") == found["metadata"]["generation"]
        return is_observed and all((found["status"].get(counter) or 0) == desired for counter in counters)

    await cluster.eventually(done)
    await cluster.settled()
    return await cluster.read(obj)


async def add_nodes(cluster: Cluster) -> None:
    for name in NAMES:
        await cluster.add_node(a_node(name))


async def places(cluster: Cluster) -> list[str]:
    return sorted(target_node(pod) for pod in await cluster.list(PODS))


def labelled(**labels: str) -> Object:
    return {"spec": {"template": {"metadata": {"labels": labels}}}}


def test_nodes_that_come_and_change_get_and_lose_pods() -> None:
    """A new node gets one, one that no longer suits loses it, one that suits again gets one."""

    async def check(cluster: Cluster) -> list[list[str]]:
        seen = []
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent").node_selector(role="edge"))
        await rolled_out(cluster, agent, 0)
        for name, labels in (("a", {"role": "edge"}), ("b", {"role": "edge"}), ("a", {"role": "core"})):
            await cluster.patch(await cluster.api.get(NODES, name), {"metadata": {"labels": labels}})
            await cluster.settled()
            seen.append(await places(cluster))
        await cluster.add_node(a_node("d").labels(role="edge"))
        await rolled_out(cluster, agent, 2)
        return [*seen, await places(cluster)]

    assert [["a"], ["a", "b"], ["b"], ["b", "d"]] == run_cluster(check, processes=LOOPS)


def test_taints_keep_out_and_drive_out() -> None:
    """NoSchedule lets pods stay and not come back, NoExecute removes them; cordoning changes nothing."""

    async def check(cluster: Cluster) -> list[list[str]]:
        seen = []
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent"))
        await rolled_out(cluster, agent)
        for name, spec in (
            ("a", {"taints": [{"key": "k", "effect": "NoSchedule"}]}),
            ("b", {"taints": [{"key": "k", "effect": "NoExecute"}]}),
            ("c", {"unschedulable": True}),
        ):
            await cluster.patch(await cluster.api.get(NODES, name), {"spec": spec})
        await cluster.settled()
        seen.append(await places(cluster))
        for pod in await cluster.list(PODS):
            await cluster.delete(pod)
        await cluster.settled()
        return [*seen, await places(cluster)]

    assert [["a", "c"], ["c"]] == run_cluster(check, processes=LOOPS)


@pytest.mark.parametrize(
    ("settings", "fewest", "most"), [({"unavailable": 1}, 2, 3), ({"unavailable": 2}, 1, 3), ({"surge": 1}, 3, 4)]
)
def test_limits_hold_at_every_moment(settings: dict[str, Any], fewest: int, most: int) -> None:
    """Ready pods never fall below, nor pods in all rise above what the strategy allows; in the end all are new."""

    async def check(cluster: Cluster) -> tuple[int, int, set[str]]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent").rolling(**settings))
        await rolled_out(cluster, agent)
        before = await cluster.api.list(PODS, "default")
        await cluster.patch(agent, labelled(v="2"))
        await rolled_out(cluster, agent)
        pods = {name_of(pod): pod for pod in before["items"]}
        counts = []
        version = before["metadata"]["resourceVersion"]
        async with aclosing(cluster.api.watch(PODS, "default", resource_version=version, timeout_seconds=1)) as events:
            async for event in events:
                pods.pop(name_of(event.object), None)
                if event.type != "DELETED" and "deletionTimestamp" not in event.object["metadata"]:
                    pods[name_of(event.object)] = event.object
                counts.append((sum(bool(pod["status"].get("conditions")) for pod in pods.values()), len(pods)))
        ready, total = zip(*counts, strict=True)
        return min(ready), max(total), {labels_of(pod).get("v", "1") for pod in pods.values()}

    assert (fewest, most, {"2"}) == run_cluster(check, processes=LOOPS)


def test_on_delete_waits_for_users() -> None:
    """A new template reaches a node when its pod is deleted."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent").on_delete())
        await rolled_out(cluster, agent)
        await cluster.patch(agent, labelled(v="2"))
        await cluster.settled()
        before = [labels_of(pod).get("v", "1") for pod in await cluster.list(PODS)]
        await cluster.delete((await cluster.list(PODS))[0])
        await cluster.settled()
        status = (await cluster.read(agent))["status"]
        return before, sorted(labels_of(pod).get("v", "1") for pod in await cluster.list(PODS)), status

    before, after, status = run_cluster(check, processes=LOOPS)

    assert (["1"] * 3, ["1", "1", "2"], 1) == (before, after, status["updatedNumberScheduled"])


def test_failed_pods_are_replaced_more_and_more_slowly() -> None:
    """The first at once, the next a second later, then two; each is told of."""

    async def check(cluster: Cluster) -> tuple[list[int], Counter[str]]:
        await cluster.stop("nodes")
        await cluster.add_node(a_node("a"))
        await cluster.create(a_daemon_set("agent"))
        replaced = []
        for _ in range(4):
            (pod,) = await cluster.eventually(lambda: cluster.list(PODS))
            bound = {**pod, "spec": {**pod["spec"]}, "status": {"phase": "Failed"}}
            began = cluster.clock.monotonic()
            await cluster.api.update(PODS, bound, subresource="status")

            async def is_replaced(failed: Object = pod) -> bool:
                return name_of(failed) not in [name_of(each) for each in await cluster.list(PODS)]

            await cluster.eventually(is_replaced)
            replaced.append(round(cluster.clock.monotonic() - began))
        await cluster.settled()
        told = Counter(event["reason"] for event in await cluster.list(EVENTS) if event["type"] == "Warning")
        return replaced, told

    replaced, told = run_cluster(check, processes=LOOPS)

    assert ([0, 1, 2, 4], {"FailedDaemonPod": 4}) == (replaced, dict(told))


def test_history_is_kept_within_its_limit_and_gone_back_to() -> None:
    """Going back makes the old revision the newest; pods carry its hash."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent").spec(revisionHistoryLimit=1))
        for version in ("1", "2", "3", "2"):
            await cluster.patch(agent, labelled(v=version))
            await rolled_out(cluster, agent)
        kept = {labels_of(r)["v"]: r for r in await cluster.list(CONTROLLER_REVISIONS)}
        hashes = {labels_of(pod)["controller-revision-hash"] for pod in await cluster.list(PODS)}
        return {version: r["revision"] for version, r in kept.items()}, hashes, labels_of(kept["2"])

    numbers, hashes, labels = run_cluster(check, processes=LOOPS)

    assert ({"3": 4, "2": 5}, {labels["controller-revision-hash"]}) == (numbers, hashes)


def test_a_revision_whose_name_is_taken_gets_another() -> None:
    """The collision count goes into the status first, then into the name."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        await add_nodes(cluster)
        await cluster.stop("daemonset")
        agent = await cluster.create(a_daemon_set("agent"))
        taken = {"name": f"agent-{pod_template_hash(agent['spec']['template'])}", "namespace": "default"}
        other = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": taken, "data": {}, "revision": 7}
        await cluster.create(other, CONTROLLER_REVISIONS)
        cluster.start("daemonset")
        found = await rolled_out(cluster, agent)
        return found["status"]["collisionCount"], len(await cluster.list(CONTROLLER_REVISIONS))

    assert (1, 2) == run_cluster(check, processes=LOOPS)


def test_adopted_duplicates_of_a_revision_are_merged() -> None:
    """Orphaned and made anew, a set finds its old revision again: one of both is kept, and pods carry its hash."""

    async def check(cluster: Cluster) -> tuple[int, set[str], set[str]]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent"))
        await rolled_out(cluster, agent)
        (revision,) = await cluster.list(CONTROLLER_REVISIONS)
        labels = {**labels_of(revision), "controller-revision-hash": "twin"}
        twin = {"metadata": {"name": "agent-twin", "namespace": "default", "labels": labels}}
        kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
        await cluster.create({**kind, **twin, "data": revision["data"], "revision": 4}, CONTROLLER_REVISIONS)
        await cluster.settled()
        kept = await cluster.list(CONTROLLER_REVISIONS)
        hashes = {labels_of(pod)["controller-revision-hash"] for pod in await cluster.list(PODS)}
        return len(kept), {labels_of(r)["controller-revision-hash"] for r in kept}, hashes

    assert (1, {"twin"}, {"twin"}) == run_cluster(check, processes=LOOPS)


def test_orphans_are_adopted_and_strangers_let_go() -> None:
    """A matching pod on a node counts as its daemon pod; one that is relabelled is released and replaced."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        await add_nodes(cluster)
        await cluster.create(a_pod("orphan").labels(app="agent").on("a"))
        agent = await cluster.create(a_daemon_set("agent").on_delete())
        await cluster.settled()
        stranger = next(pod for pod in await cluster.list(PODS) if target_node(pod) == "b")
        await cluster.patch(stranger, {"metadata": {"labels": {"app": "x"}}})
        await cluster.settled()
        found = {name_of(pod): bool(controller_of(pod)) for pod in await cluster.list(PODS)}
        status = (await cluster.read(agent))["status"]
        return {"orphan": found["orphan"], "stranger": found[name_of(stranger)], "n": len(found), "status": status}

    found = run_cluster(check, processes=LOOPS)

    status = found.pop("status")
    assert ({"orphan": True, "stranger": False, "n": 4}, 3) == (found, status["currentNumberScheduled"])


def test_availability_comes_with_time() -> None:
    """Ten seconds after the pods became ready, without any event to tell of it, they count as available."""

    async def check(cluster: Cluster) -> tuple[Object, Object]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent").spec(minReadySeconds=10))
        await cluster.settled(quiet_seconds=2)
        early = (await cluster.read(agent))["status"]
        await cluster.clock.sleep(9)
        return early, (await cluster.read(agent))["status"]

    early, late = run_cluster(check, processes=LOOPS)

    assert (3, None, 3) == (early["numberReady"], early.get("numberAvailable"), late.get("numberAvailable"))


def test_many_nodes_take_few_requests() -> None:
    """300 nodes get one pod each, in two bursts, and the status is not written for every one of them."""

    async def check(cluster: Cluster) -> tuple[int, bool]:
        for i in range(300):
            await cluster.add_node(a_node(f"n{i}"))
        agent = await cluster.create(a_daemon_set("agent"))
        await rolled_out(cluster, agent, 300)
        asked = [write.target for write in cluster.writes if write.process == "daemonset"]
        return sum(target.endswith("/pods") for target in asked), sum(t.endswith("/status") for t in asked) < 60

    unscheduled = {name: process for name, process in LOOPS.items() if name != "scheduler"}
    assert (300, True) == run_cluster(check, processes=unscheduled)


def test_a_loop_that_starts_again_changes_nothing() -> None:
    """Everything that it knows is in the API."""

    async def check(cluster: Cluster) -> list[str]:
        await add_nodes(cluster)
        await rolled_out(cluster, await cluster.create(a_daemon_set("agent")))
        await cluster.stop("daemonset")
        cluster.start("daemonset")
        before = len(cluster.writes)
        await cluster.settled()
        return [f"{write.method} {write.target}" for write in cluster.writes[before:]]

    assert [] == run_cluster(check, processes=LOOPS)


def test_a_deleted_set_is_left_to_the_collector() -> None:
    """The loop neither deletes nor creates anything once it is gone."""

    async def check(cluster: Cluster) -> list[str]:
        await add_nodes(cluster)
        agent = await cluster.create(a_daemon_set("agent"))
        await rolled_out(cluster, agent)
        before = len(cluster.writes)
        await cluster.delete(agent, DAEMON_SETS)
        await cluster.settled()
        return [write.process for write in cluster.writes[before:]]

    assert ["test"] == run_cluster(check, processes=LOOPS)
