"""Deployments, StatefulSets and DaemonSets: rolled out, changed in the middle of it, rolled back, scaled."""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object, controller_of, labels_of
from kubeloop.apimachinery.resource import NODES, PODS, REPLICA_SETS
from kubeloop.testing.builders import a_daemon_set, a_deployment, a_node, a_stateful_set
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Live, Scenario, at_most
from tests.level_triggered.loops import processes, the_scheduler
from tests.level_triggered.waiting import PATIENCE_SECONDS, until, until_gone, until_status


def image(version: str) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": f"web:{version}"}]}}}}


def without_messages(_: str, obj: Object) -> Object:
    """A condition's message changes with its reason only: who missed what lay between tells of an older ReplicaSet."""
    status = obj.get("status") or {}
    conditions = [{k: v for k, v in one.items() if k != "message"} for one in status.get("conditions") or ()]
    return {**obj, "status": {**status, "conditions": conditions}}


async def two_rollouts_and_a_way_back(cluster: Cluster) -> None:
    web = await cluster.create(a_deployment("web").replicas(4).surge(1).unavailable(1))
    await until_status(cluster, web, replicas=4, updatedReplicas=4, availableReplicas=4)

    await cluster.patch(web, image("2"))

    async def has_begun() -> bool:
        return len(await cluster.list(REPLICA_SETS, "default")) == 2

    await until(cluster, has_begun)
    await cluster.patch(web, {"spec": {"replicas": 6}})
    await until_status(cluster, web, replicas=6, updatedReplicas=6, availableReplicas=6)
    await cluster.patch(web, image("1"))
    await until_status(cluster, web, replicas=6, updatedReplicas=6, availableReplicas=6)

    recreated = await cluster.create(a_deployment("single").replicas(2).recreate())
    await until_status(cluster, recreated, replicas=2, availableReplicas=2)
    await cluster.patch(recreated, image("2"))
    await until_status(cluster, recreated, replicas=2, updatedReplicas=2, availableReplicas=2)


async def ordered_pods_with_claims(cluster: Cluster) -> None:
    db = await cluster.create(a_stateful_set("db").replicas(3).claims("data"))
    await until_status(cluster, db, replicas=3, readyReplicas=3)

    victim = await cluster.api.get(PODS, "db-1", "default")
    await cluster.delete(victim)
    await until_gone(cluster, victim, PODS)
    await until_status(cluster, db, replicas=3, readyReplicas=3)

    await cluster.patch(db, image("2"))
    await until_status(cluster, db, replicas=3, readyReplicas=3, updatedReplicas=3)
    await cluster.patch(db, {"spec": {"replicas": 1}})
    await until_status(cluster, db, replicas=1, readyReplicas=1)
    await cluster.patch(db, {"spec": {"replicas": 4}})
    parallel = a_stateful_set("cache").replicas(3).parallel().retention("Delete", "Delete").claims("data")
    cache = await cluster.create(parallel)
    await until_status(cluster, cache, replicas=3, readyReplicas=3)
    await cluster.patch(cache, {"spec": {"replicas": 2}})
    await until_status(cluster, db, replicas=4, readyReplicas=4)


def without_numbers(resource: str, obj: Object) -> Object:
    """Shown an old list of sets after a restart, a loop goes back to the template there, and forth: both count."""
    return {k: v for k, v in obj.items() if k != "revision"} if resource == "controllerrevisions.apps" else obj


def no_number_twice(live: Live, _: object) -> str:
    """Which template was before which, nobody could tell."""
    numbers = [
        ((controller_of(obj) or {}).get("uid"), obj["revision"])
        for key, obj in live.items()
        if key.resource == "controllerrevisions.apps"
    ]
    return "" if len(set(numbers)) == len(numbers) else "two revisions of one set have the same number"


def without_numbers_and_conditions_of_pods(resource: str, obj: Object) -> Object:
    """The scheduler's and those of the process that plays kubelet overwrite each other."""
    if resource != "pods":
        return without_numbers(resource, obj)
    return {**obj, "status": {k: v for k, v in obj["status"].items() if k != "conditions"}}


async def agents_on_nodes_that_come_and_go(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        await cluster.add_node(a_node(name))
    agent = await cluster.create(a_daemon_set("agent"))
    await until_status(cluster, agent, numberAvailable=3, updatedNumberScheduled=3)

    taint = {"key": "example.com/out", "effect": "NoExecute"}
    await cluster.api.patch(NODES, "a", {"spec": {"taints": [taint]}})
    await until_status(cluster, agent, currentNumberScheduled=2, numberMisscheduled=None)
    await cluster.patch(agent, image("2"))
    await until_status(cluster, agent, numberAvailable=2, updatedNumberScheduled=2)
    await cluster.add_node(a_node("d"))
    await cluster.api.patch(NODES, "a", {"spec": {"taints": None}})
    await until_status(cluster, agent, numberAvailable=4, updatedNumberScheduled=4)

    async def pods_on_b() -> list[Object]:
        return [pod for pod in await cluster.list(PODS) if pod["spec"].get("nodeName") == "b"]

    victim, *_ = await cluster.eventually(pods_on_b, PATIENCE_SECONDS)
    await cluster.delete(victim, grace_period_seconds=0)
    await cluster.patch(agent, {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "b"}}}}})


def no_more_than_the_surge(live: Live, _: object) -> str:
    """Six, and one by maxSurge. What is asked for counts: ReplicaSets need a while to follow."""
    wanted = sum(
        replica_set["spec"]["replicas"]
        for key, replica_set in live.items()
        if key.resource == "replicasets.apps" and labels_of(replica_set).get("app") == "web"
    )
    return f"ReplicaSets of web want {wanted} pods, no more than 7 are allowed" if wanted > 7 else ""


NEVER_TWO_VERSIONS = at_most(2, "pods", "pods of single", lambda pod: labels_of(pod).get("app") == "single")

SCENARIOS = (
    Scenario(
        "deployment-controller",
        processes("deployment-controller", "replicaset-controller", "pods"),
        two_rollouts_and_a_way_back,
        reduce=without_messages,
        laws=(no_more_than_the_surge, NEVER_TWO_VERSIONS),
    ),
    Scenario(
        "statefulset-controller",
        processes(
            "statefulset-controller",
            "pods",
            "garbage-collector-controller",
            "persistentvolumeclaim-protection-controller",
        ),
        ordered_pods_with_claims,
        reduce=without_numbers,
        laws=(no_number_twice,),
    ),
    Scenario(
        "daemonset-controller",
        {**processes("daemonset-controller", "pods"), "scheduler": the_scheduler()},
        agents_on_nodes_that_come_and_go,
        reduce=without_numbers_and_conditions_of_pods,
    ),
)
