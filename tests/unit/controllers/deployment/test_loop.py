"""Deployments in a living cluster: API server, the two loops and pods that become ready."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

import pytest

from controllers import deployment, replicaset
from controllers.deployment import rollback
from controllers.deployment.revisions import set_name
from kubeloop.apimachinery.hashing import pod_template_hash
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import DEPLOYMENTS, EVENTS, PODS, REPLICA_SETS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_deployment, a_replica_set
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {
    "deployment": a_loop(deployment.add_to),
    "replicaset": a_loop(replicaset.add_replica_sets),
    "nodes": a_loop(nodes.add_to),
}
REVISION = "deployment.kubernetes.io/revision"
CAUSE = "kubernetes.io/change-cause"


def is_rolled_out(found: Object) -> bool:
    status, replicas = found.get("status") or {}, found["spec"]["replicas"]
    counters = ("replicas", "updatedReplicas", "availableReplicas")
    return status.get("observedGeneration") == found["metadata"]["generation"] and all(
        (status.get(counter) or 0) == replicas for counter in counters
    )


async def rolled_out(cluster: Cluster, obj: Object) -> Object:
    async def done() -> Object | None:
        found = await cluster.read(obj)
        return found if is_rolled_out(found) else None

    await cluster.eventually(done)
    await cluster.settled()
    return await cluster.read(obj)


async def pods_now(cluster: Cluster) -> Object:
    return await cluster.api.list(PODS, "default")


async def history(
    cluster: Cluster, before: Object, with_terminating: bool = False
) -> AsyncIterator[Mapping[str, Object]]:
    """The pods by name after each change since `before`."""
    pods = {name_of(pod): pod for pod in before["items"]}
    version = before["metadata"]["resourceVersion"]
    async with aclosing(cluster.api.watch(PODS, "default", resource_version=version, timeout_seconds=1)) as events:
        async for event in events:
            pods.pop(name_of(event.object), None)
            is_leaving = "deletionTimestamp" in event.object["metadata"]
            if event.type != "DELETED" and (with_terminating or not is_leaving):
                pods[name_of(event.object)] = event.object
            yield pods


def images(pods: Iterable[Object]) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in pods}


async def next_write(cluster: Cluster) -> None:
    """Virtual time stands still while requests are under way, so this yields instead of waiting."""
    seen = len(cluster.writes)
    for _ in range(10_000):
        if len(cluster.writes) > seen:
            return
        await asyncio.sleep(0)
    raise AssertionError("nobody writes any more")


def new_image(image: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}}


def test_a_rollout_ends_at_rest() -> None:
    """Pods of the new template only, the old ReplicaSet kept empty, revision counted, everything told."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        web = await cluster.create(a_deployment("web").replicas(3).surge(1).unavailable(0))
        await rolled_out(cluster, web)
        await cluster.patch(web, new_image("web:2"))
        found = await rolled_out(cluster, web)
        sets = await cluster.list(REPLICA_SETS)
        pods = await cluster.list(PODS)
        events = [event["message"].split(" ", 4)[-1] for event in await cluster.list(EVENTS, "default", "")]
        told = Counter(message.split(" ", 1)[-1] for message in events if "from" in message)
        return (
            found["metadata"]["annotations"][REVISION],
            [(c["type"], c["status"], c["reason"]) for c in found["status"]["conditions"]],
            sorted(each["spec"]["replicas"] for each in sets),
            (len(pods), images(pods)),
            told,
        )

    revision, conditions, sizes, pods, told = run_cluster(check, processes=LOOPS)

    assert ("2", [0, 3], (3, {"web:2"})) == (revision, sizes, pods)
    assert [
        ("Available", "True", "MinimumReplicasAvailable"),
        ("Progressing", "True", "NewReplicaSetAvailable"),
    ] == conditions
    assert {"from 0 to 3": 1, "from 0 to 1": 1, "from 1 to 2": 1, "from 2 to 3": 1} == {
        k: v for k, v in told.items() if int(k.split()[1]) < int(k.split()[3])
    }


def test_surge_and_availability_hold_at_every_moment() -> None:
    """With maxSurge 2 and maxUnavailable 1, at no revision more than 12 pods, nor fewer than 9 ready."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        web = await cluster.create(a_deployment("web").replicas(10).surge(2).unavailable(1))
        await rolled_out(cluster, web)
        before = await pods_now(cluster)
        await cluster.patch(web, new_image("web:2"))
        await rolled_out(cluster, web)
        moments = [list(pods.values()) async for pods in history(cluster, before)]
        ready = [sum(bool(pod["status"].get("conditions")) for pod in pods) for pods in moments]
        return max(map(len, moments)), min(ready)

    most, fewest_ready = run_cluster(check, processes=LOOPS)

    assert (12, 9) == (most, fewest_ready)


def test_large_deployments_take_few_requests() -> None:
    """200 pods are created with one request each; statuses are written when something changed, not for each pod."""

    async def check(cluster: Cluster) -> Counter[str]:
        web = await cluster.create(a_deployment("web").replicas(200))
        await rolled_out(cluster, web)
        kinds = (write.target.split("?")[0].split("/")[-1] for write in cluster.writes if write.process != "nodes")
        return Counter("status" if kind == "status" else kind for kind in kinds)

    written = run_cluster(check, processes=LOOPS)

    assert (200, True) == (written["pods"], written["status"] < 60), written


def test_loops_that_start_again_change_nothing() -> None:
    """Everything that a loop knows is in the API: a fresh process finds nothing to do."""

    async def check(cluster: Cluster) -> list[str]:
        web = await cluster.create(a_deployment("web").replicas(3))
        await rolled_out(cluster, web)
        for name in ("deployment", "replicaset"):
            await cluster.stop(name)
            cluster.start(name)
        before = len(cluster.writes)
        await cluster.settled()
        await cluster.clock.sleep(700)  # a deadline later
        return [f"{write.method} {write.target}" for write in cluster.writes[before:]]

    assert [] == run_cluster(check, processes=LOOPS)


def test_loops_that_die_in_the_middle_make_no_pod_too_many() -> None:
    """Killed again and again right after a write, they end with exactly the wanted pods."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        web = await cluster.create(a_deployment("web").replicas(30))
        for _ in range(4):
            await next_write(cluster)
            for name in ("deployment", "replicaset"):
                await cluster.stop(name)
                cluster.start(name)
        await rolled_out(cluster, web)
        deleted = [write for write in cluster.writes if write.method == "DELETE" and write.process == "replicaset"]
        return len(await cluster.list(PODS)), len(deleted)

    assert (30, 0) == run_cluster(check, processes=LOOPS)


def test_a_colliding_name_gets_a_collision_count() -> None:
    """A stranger has the name that follows from the template: the count makes another one."""

    async def check(cluster: Cluster) -> tuple[int, list[str]]:
        stranger = a_replica_set("web").replicas(0)
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        await cluster.stop("deployment")
        web = await cluster.create(a_deployment("web"))
        stranger["metadata"]["name"] = set_name("web", pod_template_hash(web["spec"]["template"]))
        stranger["spec"]["selector"] = {"matchLabels": {"app": "other"}}
        stranger["spec"]["template"] = {**template, "metadata": {"labels": {"app": "other"}}}
        await cluster.create(stranger)
        cluster.start("deployment")
        found = await rolled_out(cluster, web)
        return found["status"]["collisionCount"], [name_of(each) for each in await cluster.list(REPLICA_SETS)]

    count, names = run_cluster(check, processes=LOOPS)

    assert (1, 2) == (count, len(set(names)))


def test_a_stuck_rollout_is_overdue_at_its_deadline() -> None:
    """Ten minutes without progress, and not before, turn Progressing to False."""

    async def check(cluster: Cluster) -> tuple[bool, float]:
        web = await cluster.create(a_deployment("web").replicas(1))
        await rolled_out(cluster, web)
        broken = {"spec": {"template": {"metadata": {"labels": {nodes.BROKEN: "yes"}}}}}
        await cluster.patch(web, broken)
        began = cluster.clock.monotonic()

        async def is_overdue() -> bool:
            found = (await cluster.read(web))["status"]["conditions"]
            return any(condition["reason"] == "ProgressDeadlineExceeded" for condition in found)

        await cluster.eventually(is_overdue, within_seconds=700, every_seconds=1)
        available = (await cluster.read(web))["status"]["availableReplicas"]
        return available == 1, cluster.clock.monotonic() - began

    is_available, seconds = run_cluster(check, processes=LOOPS)

    assert (True, True) == (is_available, 600 <= seconds <= 604), seconds


def test_recreate_never_runs_both_templates() -> None:
    """The first new pod is created after the last old one is gone."""

    async def check(cluster: Cluster) -> set[int]:
        web = await cluster.create(a_deployment("web").replicas(3).recreate())
        await rolled_out(cluster, web)
        before = await pods_now(cluster)
        await cluster.patch(web, new_image("web:2"))
        await rolled_out(cluster, web)
        return {len(images(pods.values())) async for pods in history(cluster, before, with_terminating=True)}

    assert {0, 1} == run_cluster(check, processes=LOOPS)


def test_pods_are_followed_for_who_waits_for_them() -> None:
    """As long as all Deployments roll, no pod reaches the loop; the first that recreates has them followed."""
    managers: list[Manager] = []

    def add_to(manager: Manager) -> None:
        managers.append(manager)
        deployment.add_to(manager)

    def follows_pods() -> bool:
        (manager,) = managers
        return any(informer.scope.resource == PODS for informer in manager._informers.values())

    async def check(cluster: Cluster) -> list[bool]:
        await rolled_out(cluster, await cluster.create(a_deployment("web").replicas(2)))
        before = follows_pods()
        await rolled_out(cluster, await cluster.create(a_deployment("single").replicas(1).recreate()))
        return [before, follows_pods()]

    assert [False, True] == run_cluster(check, processes={**LOOPS, "deployment": a_loop(add_to)})


@pytest.mark.parametrize(
    ("asked", "image", "reason", "message"),
    [
        ("1", "web:1", "DeploymentRollback", 'Rolled back deployment "web" to revision 1'),
        ("0", "web:2", "DeploymentRollback", 'Rolled back deployment "web" to revision 2'),
        (
            "3",
            "web:3",
            "DeploymentRollbackTemplateUnchanged",
            'The rollback revision contains the same template as current deployment "web"',
        ),
        ("9", "web:3", "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to."),
        ("x", "web:3", None, None),
    ],
    ids=["first", "last but one", "the same", "unknown", "nonsense"],
)
def test_an_annotation_of_old_asks_for_an_earlier_revision(
    asked: str, image: str, reason: str | None, message: str | None
) -> None:
    """Its template and its change-cause come back; the request goes, whether it could be met or not."""

    async def check(cluster: Cluster) -> tuple[str, str, bool, list[tuple[str, str]]]:
        web = await cluster.create(a_deployment("web").image("web:1").annotations({CAUSE: "1"}))
        for version in "23":
            await rolled_out(cluster, web)
            containers = [{"name": "web", "image": f"web:{version}"}]
            changed = {"spec": {"template": {"spec": {"containers": containers}}}}
            await cluster.patch(web, {"metadata": {"annotations": {CAUSE: version}}, **changed})
        await rolled_out(cluster, web)
        await cluster.patch(web, {"metadata": {"annotations": {rollback.ANNOTATION: asked}}})
        after = await rolled_out(cluster, web)
        now = after["spec"]["template"]["spec"]["containers"][0]["image"]
        annotations = after["metadata"]["annotations"]
        events = [(e["reason"], e["message"]) for e in await cluster.list(EVENTS) if "Rollback" in e["reason"]]
        return now, annotations[CAUSE], rollback.ANNOTATION in annotations, events

    now, cause, is_asked, told = run_cluster(check, processes=LOOPS)

    assert (image, image[-1], asked == "x") == (now, cause, is_asked)
    assert ([(reason, message)] if reason else []) == told


def test_a_deleted_deployment_is_left_to_the_collector() -> None:
    """The loops neither delete nor create anything once it is gone."""

    async def check(cluster: Cluster) -> list[str]:
        web = await cluster.create(a_deployment("web").replicas(2))
        await rolled_out(cluster, web)
        before = len(cluster.writes)
        await cluster.delete(web, DEPLOYMENTS)
        await cluster.settled()
        return [write.process for write in cluster.writes[before:]]

    assert ["test"] == run_cluster(check, processes=LOOPS)
