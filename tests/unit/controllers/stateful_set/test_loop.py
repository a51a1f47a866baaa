"""StatefulSets in a living cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from controllers import stateful_set
from kubeloop.apimachinery.hashing import controller_revision_hash
from kubeloop.apimachinery.meta import Object, controller_of, labels_of, name_of, uid_of
from kubeloop.apimachinery.resource import (
    CONTROLLER_REVISIONS,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
)
from kubeloop.testing.builders import a_pod, a_stateful_set
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {"statefulset": a_loop(stateful_set.add_to), "nodes": a_loop(nodes.add_to)}


async def rolled_out(cluster: Cluster, obj: Object) -> Object:
    """Observed, and every pod new and available."""

    async def done() -> bool:
        found = await cluster.read(obj)
        status, replicas = found["status"], found["spec"]["replicas"]
        counters = ("replicas", "updatedReplicas", "availableReplicas")
        is_observed = status.get("observedGeneration") == found["metadata"]["generation"]
        return is_observed and all((status.get(counter) or 0) == replicas for counter in counters)

    await cluster.eventually(done)
    await cluster.settled()
    return await cluster.read(obj)


def labelled(**labels: str) -> Object:
    return {"spec": {"template": {"metadata": {"labels": labels}}}}


async def names(cluster: Cluster) -> list[str]:
    return sorted(name_of(pod) for pod in await cluster.list(PODS))


async def moments(cluster: Cluster, before: Object) -> AsyncIterator[str]:
    """The ready pods' ordinals after each change since `before`: "012"."""
    pods = {name_of(pod): pod for pod in before["items"]}
    version = before["metadata"]["resourceVersion"]
    async with aclosing(cluster.api.watch(PODS, "default", resource_version=version, timeout_seconds=1)) as events:
        async for event in events:
            pods.pop(name_of(event.object), None)
            is_gone = event.type == "DELETED" or "deletionTimestamp" in event.object["metadata"]
            if not is_gone and event.object["status"].get("conditions"):
                pods[name_of(event.object)] = event.object
            yield "".join(sorted(name.rpartition("-")[2] for name in pods))


def test_pods_come_and_go_in_order() -> None:
    """One after the other, each when the last is ready; down from the highest."""

    async def check(cluster: Cluster) -> list[str]:
        before = await cluster.api.list(PODS, "default")
        web = await cluster.create(a_stateful_set("web").replicas(3))
        await rolled_out(cluster, web)
        await cluster.patch(web, {"spec": {"replicas": 1}})
        await rolled_out(cluster, web)
        return list(dict.fromkeys([moment async for moment in moments(cluster, before)]))

    assert ["", "0", "01", "012"] == run_cluster(check, processes=LOOPS)


def test_an_update_takes_one_pod_at_a_time() -> None:
    """From the highest down; then old and new revision are one, and both are kept."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        web = await cluster.create(a_stateful_set("web").replicas(3))
        await rolled_out(cluster, web)
        before = await cluster.api.list(PODS, "default")
        await cluster.patch(web, labelled(v="2"))
        status = (await rolled_out(cluster, web))["status"]
        seen = list(dict.fromkeys([moment async for moment in moments(cluster, before)]))
        revisions = {name_of(r): r["revision"] for r in await cluster.list(CONTROLLER_REVISIONS)}
        pods = {labels_of(pod)["controller-revision-hash"] for pod in await cluster.list(PODS)}
        return seen, revisions, pods, status

    seen, revisions, pods, status = run_cluster(check, processes=LOOPS)

    assert (["01", "012", "02", "12"], [1, 2]) == (seen, sorted(revisions.values()))
    newest = max(revisions, key=lambda name: revisions[name])
    assert ({newest}, newest, newest) == (pods, status["currentRevision"], status["updateRevision"])


def test_going_back_makes_the_old_revision_the_newest() -> None:
    """No third one is made, and its number grows."""

    async def check(cluster: Cluster) -> list[int]:
        web = await cluster.create(a_stateful_set("web").replicas(1))
        for version in ("1", "2", "1"):
            await cluster.patch(web, labelled(v=version))
            await rolled_out(cluster, web)
        return sorted(r["revision"] for r in await cluster.list(CONTROLLER_REVISIONS, label_selector="v"))

    assert [3, 4] == run_cluster(check, processes=LOOPS)


def test_history_is_limited() -> None:
    """Besides the revision in use as many as the limit says, the newest."""

    async def check(cluster: Cluster) -> list[int]:
        web = await cluster.create(a_stateful_set("web").replicas(1).spec(revisionHistoryLimit=2))
        for version in "12345":
            await cluster.patch(web, labelled(v=version))
            await rolled_out(cluster, web)
        return sorted(r["revision"] for r in await cluster.list(CONTROLLER_REVISIONS))

    assert [4, 5, 6] == run_cluster(check, processes=LOOPS)


@pytest.mark.parametrize("is_parallel", [False, True])
def test_a_partition_keeps_pods_old(is_parallel: bool) -> None:
    """Pods below it come back as they were when they are deleted."""

    async def check(cluster: Cluster) -> list[str]:
        built = a_stateful_set("web").replicas(3).partition(2)
        web = await cluster.create(built.parallel() if is_parallel else built)
        await rolled_out(cluster, web)
        await cluster.patch(web, labelled(v="2"))
        await cluster.settled()
        for pod in await cluster.list(PODS):
            await cluster.delete(pod)
        await cluster.settled()
        return [labels_of(pod).get("v", "1") for pod in await cluster.list(PODS)]

    assert ["1", "1", "2"] == run_cluster(check, processes=LOOPS)


def test_a_broken_pod_is_not_replaced_until_it_is_deleted() -> None:
    """A template put right changes nothing about it: order is kept."""

    async def check(cluster: Cluster) -> tuple[list[bool], Object]:
        web = await cluster.create(a_stateful_set("web").replicas(2))
        await rolled_out(cluster, web)
        await cluster.patch(web, labelled(**{nodes.BROKEN: "yes"}))
        await cluster.settled()
        await cluster.patch(web, {"spec": {"template": {"metadata": {"labels": {nodes.BROKEN: None}}}}})
        await cluster.settled()
        stuck = [nodes.BROKEN in labels_of(pod) for pod in await cluster.list(PODS)]
        await cluster.delete(await cluster.api.get(PODS, "web-1", "default"))
        return stuck, (await rolled_out(cluster, web))["status"]

    stuck, status = run_cluster(check, processes=LOOPS)

    assert ([False, True], 2) == (stuck, status["currentReplicas"])


def test_claims_outlive_pods_and_find_them_again() -> None:
    """A pod that comes back uses the claim it had; scaling down keeps claims unless told otherwise."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        web = await cluster.create(a_stateful_set("web").replicas(2).claims("data"))
        await rolled_out(cluster, web)
        before = {name_of(claim): uid_of(claim) for claim in await cluster.list(PERSISTENT_VOLUME_CLAIMS)}
        await cluster.patch(web, {"spec": {"replicas": 1}})
        await rolled_out(cluster, web)
        await cluster.patch(web, {"spec": {"replicas": 2}})
        await rolled_out(cluster, web)
        after = await cluster.list(PERSISTENT_VOLUME_CLAIMS)
        return before, {name_of(claim): uid_of(claim) for claim in after}, [controller_of(claim) for claim in after]

    before, after, owners = run_cluster(check, processes=LOOPS)

    assert (["data-web-0", "data-web-1"], [None, None]) == (sorted(before), owners)
    assert before == after


def test_a_changed_retention_policy_reaches_running_pods() -> None:
    """Their claims change hands, which is told as an update of the pod."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        web = await cluster.create(a_stateful_set("web").replicas(2).claims("data"))
        await rolled_out(cluster, web)
        policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        await cluster.patch(web, {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
        await rolled_out(cluster, web)
        owners = [(controller_of(claim) or {}).get("kind") for claim in await cluster.list(PERSISTENT_VOLUME_CLAIMS)]
        told = [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "SuccessfulUpdate"]
        return owners, sorted(told)

    owners, told = run_cluster(check, processes=LOOPS)

    assert ["StatefulSet", "StatefulSet"] == owners
    assert [f"Update Pod web-{i} in StatefulSet web successful" for i in (0, 1)] == told


def test_orphans_of_the_right_name_are_adopted() -> None:
    """One with another name is not, and one that is relabelled is let go and waited for."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        await cluster.create(a_pod("web-1").labels(app="web"))
        await cluster.create(a_pod("stray").labels(app="web"))
        web = await cluster.create(a_stateful_set("web").replicas(2))
        await cluster.settled()
        owners = {name_of(pod): (controller_of(pod) or {}).get("name") for pod in await cluster.list(PODS)}
        label = labels_of(await cluster.api.get(PODS, "web-1", "default"))["apps.kubernetes.io/pod-index"]
        await cluster.patch(await cluster.api.get(PODS, "web-0", "default"), {"metadata": {"labels": {"app": "x"}}})
        await cluster.settled()
        released = controller_of(await cluster.api.get(PODS, "web-0", "default"))
        return owners, label, released, (await cluster.read(web))["status"]["replicas"]

    owners, label, released, replicas = run_cluster(check, processes=LOOPS)

    assert {"web-0": "web", "web-1": "web", "stray": None} == owners
    assert ("1", None, 1) == (label, released, replicas)


def test_a_refused_pod_is_told_of() -> None:
    """The event says why; the set goes on once it may."""

    async def check(cluster: Cluster) -> tuple[str, list[str]]:
        broken = a_stateful_set("web").replicas(1)
        broken["spec"]["template"]["spec"]["serviceAccountName"] = "robot"
        web = await cluster.create(broken)

        async def refused() -> list[str]:
            return [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "FailedCreate"]

        (message, *_) = await cluster.eventually(refused)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}
        await cluster.create(account)
        await rolled_out(cluster, web)
        return message, await names(cluster)

    message, found = run_cluster(check, processes=LOOPS)

    start = (
        'Create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: error looking up service account'
    )
    assert (True, ["web-0"]) == (message.startswith(start), found), message


def test_a_revision_whose_name_is_taken_gets_another() -> None:
    """The collision count goes into its name, and into the status."""

    async def check(cluster: Cluster) -> tuple[int, list[int]]:
        await cluster.stop("statefulset")
        web = await cluster.create(a_stateful_set("web").replicas(1))
        patch = {"spec": {"template": {**web["spec"]["template"], "$patch": "replace"}}}
        taken = {"name": f"web-{controller_revision_hash(patch, 0)}", "namespace": "default"}
        other = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": taken, "data": {}, "revision": 7}
        await cluster.create(other, CONTROLLER_REVISIONS)
        cluster.start("statefulset")
        found = await rolled_out(cluster, web)
        return found["status"]["collisionCount"], sorted(
            r["revision"] for r in await cluster.list(CONTROLLER_REVISIONS)
        )

    assert (1, [1, 7]) == run_cluster(check, processes=LOOPS)


def test_a_loop_that_starts_again_changes_nothing() -> None:
    """Everything that it knows is in the API."""

    async def check(cluster: Cluster) -> list[str]:
        web = await cluster.create(a_stateful_set("web").replicas(3).claims("data").retention("Delete", "Delete"))
        await rolled_out(cluster, web)
        await cluster.stop("statefulset")
        cluster.start("statefulset")
        before = len(cluster.writes)
        await cluster.settled()
        return [f"{write.method} {write.target}" for write in cluster.writes[before:]]

    assert [] == run_cluster(check, processes=LOOPS)


def test_a_rolling_update_asks_for_no_more_than_it_needs() -> None:
    """One deletion and one creation a pod, and no request that is refused, although caches lag."""

    async def check(cluster: Cluster) -> dict[str, int]:
        web = await cluster.create(a_stateful_set("web").replicas(10).parallel())
        await rolled_out(cluster, web)
        before = len(cluster.writes)
        await cluster.patch(web, labelled(v="2"))
        await rolled_out(cluster, web)
        asked = [
            write for write in cluster.writes[before:] if write.process == "statefulset" and "/pods" in write.target
        ]
        return {method: sum(write.method == method for write in asked) for method in ("POST", "DELETE", "PUT")}

    assert {"POST": 10, "DELETE": 10, "PUT": 0} == run_cluster(check, processes=LOOPS)


def test_a_deleted_set_is_left_to_the_collector() -> None:
    """The loop neither deletes nor creates anything once it is gone."""

    async def check(cluster: Cluster) -> list[str]:
        web = await cluster.create(a_stateful_set("web").replicas(2))
        await rolled_out(cluster, web)
        before = len(cluster.writes)
        await cluster.delete(web, STATEFUL_SETS)
        await cluster.settled()
        return [write.process for write in cluster.writes[before:]]

    assert ["test"] == run_cluster(check, processes=LOOPS)
