"""ReplicaSets and ReplicationControllers: scaled, robbed of a pod, adopting one, letting one go."""

from __future__ import annotations

from functools import partial

from kubeloop.apimachinery.meta import Object, labels_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.testing.builders import a_pod, a_replica_set
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Scenario, at_most
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until_free, until_gone, until_status


def a_replication_controller(name: str) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 1, "selector": {"app": name}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata, "spec": spec}


async def scaled_and_robbed(cluster: Cluster, obj: Object) -> None:
    web = await cluster.create({**obj, "spec": {**obj["spec"], "replicas": 5}})
    await until_status(cluster, web, replicas=5, readyReplicas=5)

    victim = (await cluster.list(PODS, "default", "app=web"))[0]
    await cluster.delete(victim)
    await until_gone(cluster, victim)
    await until_status(cluster, web, replicas=5, readyReplicas=5)

    freed = (await cluster.list(PODS, "default", "app=web"))[0]
    await cluster.patch(freed, {"metadata": {"labels": {"app": "other"}}})
    await until_free(cluster, freed)
    await until_status(cluster, web, replicas=5, readyReplicas=5)

    await cluster.patch(web, {"spec": {"replicas": 2}})
    await until_status(cluster, web, replicas=2, readyReplicas=2)
    # By a clock that is behind no pod is older than another: its cost says that the stray goes first.
    stray = a_pod("stray").labels(app="web").annotations({"controller.kubernetes.io/pod-deletion-cost": "-10"})
    await until_gone(cluster, await cluster.create(stray))
    await until_status(cluster, web, replicas=2, readyReplicas=2)
    await cluster.patch(web, {"spec": {"replicas": 4}})


# Five, and the stray that is adopted.
NO_SURPLUS = at_most(6, "pods", "pods of web", lambda pod: labels_of(pod).get("app") == "web")

REPLICA_SET = Scenario(
    "replicaset-controller",
    processes("replicaset-controller", "pods"),
    partial(scaled_and_robbed, obj=a_replica_set("web")),
    laws=(NO_SURPLUS,),
)
REPLICATION_CONTROLLER = Scenario(
    "replicationcontroller-controller",
    processes("replicationcontroller-controller", "pods"),
    partial(scaled_and_robbed, obj=a_replication_controller("web")),
    laws=(NO_SURPLUS,),
)
SCENARIOS = (REPLICA_SET, REPLICATION_CONTROLLER)
