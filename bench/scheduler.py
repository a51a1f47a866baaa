"""How many pods a second the scheduler places on 1,000 nodes, with a binder that answers from memory.

    python -m bench.scheduler [--nodes 1000] [--pods 3000] [--kind plain|deployment|deployments|spread|anti-affinity]

Kubernetes' own gate for its scheduler is 270 pods/s (test/integration/scheduler_perf, v1.36); ours is 300, for every
kind: below it the exit code is 1. Seconds are those of the processor, so that what else runs on the machine does not
fail it.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import logging
import random
import sys
import time
from typing import Any

import structlog

from controllers.scheduler.scheduler import Scheduler
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of
from kubeloop.apimachinery.resource import PODS, REPLICA_SETS, Resource
from kubeloop.client.store import Delta
from kubeloop.clock import SystemClock

GATE = 300  # pods a second of processor time
KINDS = ("plain", "deployment", "deployments", "spread", "anti-affinity")
DEPLOYMENTS = 10  # of the kind `deployments`, whose pods come by turns


ZONE = "topology.kubernetes.io/zone"


class MemoryLister:
    def __init__(self) -> None:
        self.objects: dict[ObjectKey, Object] = {}

    def get(self, key: ObjectKey) -> Object | None:
        return self.objects.get(key)

    def list(self, namespace: str = "") -> list[Object]:
        return [obj for key, obj in self.objects.items() if namespace in ("", key.namespace)]


class MemoryApi:
    """Takes bindings and tells the scheduler of them, as the API server's watch would."""

    def __init__(self) -> None:
        self.listers: dict[Resource, MemoryLister] = {}
        self.scheduler: Scheduler | None = None
        self.bound = 0
        self.all_bound = asyncio.Event()
        self.wanted = 0

    def lister(self, resource: Resource) -> MemoryLister:
        return self.listers.setdefault(resource, MemoryLister())

    async def create(self, resource: Resource, obj: Any, namespace: str = "", **how: Any) -> Object:
        if how.get("subresource") == "binding":
            self._bind(ObjectKey(namespace, how["name"]), obj["target"]["name"])
        return obj

    async def patch(self, *what: Any, **how: Any) -> Object:
        return {}

    def _bind(self, key: ObjectKey, node_name: str) -> None:
        pods = self.lister(PODS).objects
        old = pods[key]
        labels = {**old["metadata"]["labels"], ZONE: zone_of(int(node_name.removeprefix("node-")))}
        new = {
            **old,
            "metadata": {**old["metadata"], "labels": labels},
            "spec": {**old["spec"], "nodeName": node_name},
        }
        pods[key] = new
        assert self.scheduler is not None
        self.scheduler.handlers.on_pod(Delta(old, new))
        self.bound += 1
        if self.bound >= self.wanted:
            self.all_bound.set()


def zone_of(number: int) -> str:
    return f"zone-{number % 3}"


def a_node(number: int) -> Object:
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, ZONE: zone_of(number)}
    allocatable = {"cpu": "32", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": allocatable},
    }


def a_pod(number: int, kind: str) -> Object:
    labels = {"app": "web", "pod-template-hash": "5d59d67564"}
    spec: Object = {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "containers": [
            {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}},
        ],
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
    }
    metadata: Object = {"name": f"web-{number}", "namespace": "default", "uid": f"uid-{number}", "labels": labels}
    selector = {"matchLabels": {"app": "web"}}
    if kind.startswith("deployment"):
        name = f"web-{number % DEPLOYMENTS}" if kind == "deployments" else "web"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
        metadata["ownerReferences"] = [owner]
        metadata["labels"] = {**labels, "app": name}
    if kind == "spread":
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 5,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    if kind == "anti-affinity":
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


async def measure(node_count: int, pod_count: int, kind: str) -> float:
    """Pods a second of processor time."""
    api = MemoryApi()
    api.wanted = pod_count
    for name in ("web", *(f"web-{i}" for i in range(DEPLOYMENTS))):
        selector = {"matchLabels": {"app": name}}
        replica_set = {"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}
        api.lister(REPLICA_SETS).objects[key_of(replica_set)] = replica_set
    pods = api.lister(PODS)
    scheduler = Scheduler(api, SystemClock(), random.Random(1), lister=api.lister, pods=pods)  # type: ignore[arg-type]
    api.scheduler = scheduler
    for number in range(node_count):
        scheduler.handlers.on_node(Delta(None, a_node(number)))
    for number in range(pod_count):
        pod = a_pod(number, kind)
        pods.objects[key_of(pod)] = pod
        scheduler.handlers.on_pod(Delta(None, pod))
    started = time.process_time()
    running = asyncio.create_task(scheduler.run())
    await api.all_bound.wait()
    seconds = time.process_time() - started
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return pod_count / seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    kinds = [arguments.kind] if arguments.kind else KINDS
    slow = []
    for kind in kinds:
        pods = min(arguments.pods, arguments.nodes) if kind == "anti-affinity" else arguments.pods
        profiler = cProfile.Profile()
        if arguments.profile:
            profiler.enable()
        rate = asyncio.run(measure(arguments.nodes, pods, kind))
        profiler.disable()
        cost = f"{1e6 / rate:6.0f} µs of CPU a pod"
        print(f"{kind:15} {arguments.nodes:6} nodes {pods:6} pods {rate:8.0f} pods a CPU second {cost}")
        if rate < GATE:
            slow.append(kind)
        if arguments.profile:
            profiler.print_stats("tottime")
    if slow:
        print(f"below {GATE} pods a CPU second: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
