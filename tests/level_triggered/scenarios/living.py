"""The scheduler, the kubelets, and everything at once."""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import JOBS, NODES, PODS, Resource
from kubeloop.testing.builders import a_deployment, a_job, a_node, a_pod, a_service
from kubeloop.testing.cluster import Cluster, Write
from kubeloop.testing.faults import LoseAnswers, StaleLists
from kubeloop.testing.scenario import Live, Scenario
from tests.level_triggered.loops import all_loops, kubelets, processes, the_scheduler
from tests.level_triggered.scenarios import jobs
from tests.level_triggered.scenarios.services import without_trigger_time
from tests.level_triggered.waiting import until, until_gone, until_pods, until_status

PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
ROOM = 4


async def places_for_all(cluster: Cluster) -> None:
    """Two nodes with room for four pods each, a pod too many, and one that is worth more than another."""
    for name in ("a", "b"):
        await cluster.add_node(a_node(name).capacity(cpu=str(ROOM)))
    for i in range(2 * ROOM):
        await cluster.create(a_pod(f"p{i}").requests(cpu="1"))
    await until_bound(cluster, 2 * ROOM)
    await cluster.create(a_pod("waits").requests(cpu="1"))
    await cluster.delete(a_pod("p0"), grace_period_seconds=0)
    await until_bound(cluster, 2 * ROOM)
    await cluster.create(a_pod("picky").node_selector(disk="fast"))
    await cluster.add_node(a_node("c").labels(disk="fast"))
    await until_bound(cluster, 2 * ROOM + 1)
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    await cluster.create({**important, "metadata": {"name": "important"}}, PRIORITY_CLASSES)
    await cluster.api.patch(NODES, "c", {"spec": {"unschedulable": True}})
    await cluster.clock.sleep(120)
    vip = await cluster.create(a_pod("vip").requests(cpu="1").spec(priorityClassName="important"))

    async def is_bound() -> bool:
        return bool((await cluster.read(vip))["spec"].get("nodeName"))

    await until(cluster, is_bound)


async def until_bound(cluster: Cluster, count: int) -> None:
    async def are_bound() -> bool:
        pods = await cluster.list(PODS)
        return count == len([pod for pod in pods if pod["spec"].get("nodeName")])

    await until(cluster, are_bound)


def no_more_than_fit(live: Live, _: object) -> str:
    """Ask for no more CPUs than a node has: a binding that does not show yet counts all the same."""
    taken: dict[str, int] = {}
    for key, obj in live.items():
        if key.resource == "pods" and (node := obj["spec"].get("nodeName")):
            requests = obj["spec"]["containers"][0].get("resources", {}).get("requests", {})
            taken[node] = taken.get(node, 0) + int(requests.get("cpu", 0))
    over = {node: cpus for node, cpus in taken.items() if cpus > ROOM}
    return f"pods ask for more than the {ROOM} CPUs of their nodes: {over}" if over else ""


def without_places(resource: str, obj: Object) -> Object | None:
    """Which of the equal pods is on which node, and which was pushed out, is chance.

    Conditions count as little: of a bound pod they are the kubelet's to mend, and there is none here.
    """
    if resource != "pods":
        return obj
    node, name = obj["spec"].get("nodeName"), obj["metadata"]["name"]
    if name == "picky":
        return {"metadata": {"name": name}, "spec": {"nodeName": node}}
    return {
        "metadata": {"name": "vip" if name == "vip" else "one of them"},
        "spec": {"nodeName": "a or b" if node in ("a", "b") else node},
    }


async def run_and_stopped(cluster: Cluster) -> None:
    node = "node-0"
    await until_there_is_a_node(cluster, 1)
    behaviour = {"kubeloop.io/exit-after": "20s", "kubeloop.io/exit-code": "0"}
    await cluster.create(a_pod("runs").on(node))
    await cluster.create(a_pod("ends").on(node).spec(restartPolicy="Never").annotations(behaviour))
    await cluster.create(a_pod("cannot-start").image("does-not-exist:1").on(node))
    doomed = await cluster.create(a_pod("doomed").on(node))

    async def all_are_there() -> bool:
        phases = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in await cluster.list(PODS)}
        return ("Running", "Succeeded", "Running") == tuple(phases[name] for name in ("runs", "ends", "doomed"))

    await until(cluster, all_are_there)
    await cluster.delete(doomed)
    await until_gone(cluster, doomed)
    late = await cluster.create(a_pod("late").on(node))
    await until_status(cluster, late, phase="Running")


async def until_there_is_a_node(cluster: Cluster, count: int) -> None:
    async def is_free() -> bool:
        nodes = await cluster.list(NODES)
        return len(nodes) == count and not any(node["spec"].get("taints") for node in nodes)

    await until(cluster, is_free)


def is_report(write: Write) -> bool:
    """A kubelet's report on its node, every five minutes."""
    return write.method == "PATCH" and "/nodes/" in write.target and write.target.endswith("/status")


def without_restarts(resource: str, obj: Object) -> Object:
    """Which node took a pod is chance; how its state is told while it cannot start changes with time."""
    if resource != "pods":
        return without_places_of_endpoints(resource, obj)
    spec = {k: v for k, v in obj["spec"].items() if k != "nodeName"}
    labels = {k: v for k, v in (obj["metadata"].get("labels") or {}).items() if not k.startswith("topology.")}
    obj = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
    containers = obj["status"].get("containerStatuses") or ()
    if any("waiting" in one.get("state", {}) for one in containers):
        return {"metadata": obj["metadata"], "spec": spec, "status": {"phase": obj["status"]["phase"]}}
    return {**obj, "spec": spec}


def without_places_of_endpoints(resource: str, obj: Object) -> Object:
    obj = without_trigger_time(resource, obj)
    if resource == "endpoints":
        return {**obj, "subsets": len(obj.get("subsets") or ())}
    if not resource.startswith("endpointslices"):
        return obj
    placed = ("nodeName", "zone", "hints")
    endpoints = [{k: v for k, v in one.items() if k not in placed} for one in obj["endpoints"] or ()]
    return {**obj, "endpoints": endpoints}


async def a_busy_cluster(cluster: Cluster) -> None:
    await until_there_is_a_node(cluster, 2)
    await cluster.create(a_service("web"))
    web = await cluster.create(a_deployment("web").replicas(4))
    await until_status(cluster, web, availableReplicas=4)
    job = await cluster.create(a_job("work").spec(completions=3, parallelism=2, template=one_that_ends()))
    image = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
    await cluster.patch(web, image)
    await until_status(cluster, job, JOBS, succeeded=3)
    await until_status(cluster, web, availableReplicas=4, updatedReplicas=4, replicas=4)
    await cluster.patch(web, {"spec": {"replicas": 2}})
    await until_pods(cluster, 2, "app=web")
    gone = await cluster.create(a_deployment("gone").replicas(2))
    await until_status(cluster, gone, availableReplicas=2)
    await cluster.delete(gone)
    await until_pods(cluster, 0, "app=gone")


def one_that_ends() -> Object:
    template: Object = a_job("")["spec"]["template"]
    annotations = {"kubeloop.io/exit-after": "5s", "kubeloop.io/exit-code": "0"}
    return {"metadata": {"annotations": annotations}, **template}


LIFECYCLE = "node-lifecycle-controller"

SCENARIOS = (
    # Shown a list from before its own bindings and evictions, which it forgot as it died, it would bind to room that is
    # taken and evict once more, as upstream's. So it would where it hears that a pod could not be evicted that was.
    Scenario(
        "scheduler",
        {"scheduler": the_scheduler(), **processes("pods")},
        places_for_all,
        reduce=without_places,
        laws=(no_more_than_fit,),
        spared=(StaleLists, LoseAnswers),
    ),
    Scenario(
        "kubelet",
        {"kubelet": kubelets(1), **processes(LIFECYCLE)},
        run_and_stopped,
        reduce=without_restarts,
        is_idle=is_report,
    ),
    Scenario(
        "everything",
        {"loops": all_loops(), "scheduler": the_scheduler(), "kubelet": kubelets(2)},
        a_busy_cluster,
        subjects=("loops", "scheduler", "kubelet"),
        spared=jobs.COUNTING,
        reduce=without_restarts,
        is_idle=is_report,
    ),
)
