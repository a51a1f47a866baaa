"""CPU in the API server for each write of a pod's life: created, bound, started, and told of in five events.

    python -m bench.pod_life [--profile WRITE]

In process over memory storage, without HTTP; the watch cache takes every change, nobody watches.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import random
import time
from collections.abc import Awaitable, Callable

from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, LEASES, PODS, SERVICE_ACCOUNTS
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.clock import SystemClock
from kubeloop.garbage import collect_less_often
from kubeloop.testing.transport import InProcessTransport

PODS_A_ROUND = 200
ROUNDS = 5
NAMESPACE = "default"
NOW = "2026-01-01T00:00:00Z"

Write = Callable[[Api, int], Awaitable[object]]


def a_pod(number: int) -> Object:
    labels = {"app": "web", "pod-template-hash": "5d59d67564"}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "11111111-1111-1111-1111-111111111111",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    container = {"name": "c", "image": "nginx:1.27", "resources": resources, "ports": [{"containerPort": 80}]}
    metadata = {"name": f"web-{number}", "generateName": "web-", "labels": labels, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _conditions(ready: str) -> list[Object]:
    at = {"lastProbeTime": None, "lastTransitionTime": NOW}
    unready = (
        {} if ready == "True" else {"reason": "ContainersNotReady", "message": "containers with unready status: [c]"}
    )
    return [
        {"type": "PodReadyToStartContainers", "status": ready, **at},
        {"type": "Initialized", "status": "True", **at},
        {"type": "Ready", "status": ready, **unready, **at},
        {"type": "ContainersReady", "status": ready, **unready, **at},
        {"type": "PodScheduled", "status": "True", **at},
    ]


def _status(ready: str, state: Object) -> Object:
    container = {
        "name": "c",
        "image": "nginx:1.27",
        "imageID": "",
        "ready": ready == "True",
        "started": ready == "True",
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
    return {"conditions": _conditions(ready), "containerStatuses": [container], "qosClass": "Burstable"}


PULLING = {**_status("False", {"waiting": {"reason": "ContainerCreating"}}), "phase": "Pending", "startTime": NOW}
RUNNING = {
    **_status("True", {"running": {"startedAt": NOW}}),
    "phase": "Running",
    "podIP": "10.244.0.5",
    "podIPs": [{"ip": "10.244.0.5"}],
    "hostIP": "172.18.0.2",
    "hostIPs": [{"ip": "172.18.0.2"}],
}


def _patch(status: Object) -> Write:
    async def write(api: Api, number: int) -> object:
        body = {"status": status}
        return await api.patch(PODS, f"web-{number}", body, NAMESPACE, patch_type=STRATEGIC, subresource="status")

    return write


async def _create(api: Api, number: int) -> object:
    return await api.create(PODS, a_pod(number), NAMESPACE)


async def _bind(api: Api, number: int) -> object:
    target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{number % 100}"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"web-{number}"}, "target": target}
    return await api.create(PODS, binding, NAMESPACE, name=f"web-{number}", subresource="binding")


async def _tell(api: Api, number: int) -> object:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"web-{number}.18a1b2c3d4e5f607", "namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": f"web-{number}", "apiVersion": "v1"},
        "reason": "Started",
        "message": "Container started",
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": NOW,
        "lastTimestamp": NOW,
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": "node-1",
    }
    return await api.create(EVENTS, event)


class Beats:
    """A node's lease, renewed from its last answer."""

    def __init__(self) -> None:
        self._latest: dict[int, Object] = {}

    async def __call__(self, api: Api, number: int) -> object:
        spec = {
            "holderIdentity": "node",
            "leaseDurationSeconds": 40,
            "renewTime": f"2026-01-01T00:00:00.{time.time_ns() % 10**6:06}Z",
        }
        known = self._latest.get(number)
        if known is None:
            lease = {"metadata": {"name": f"node-{number}"}, "spec": spec}
            self._latest[number] = await api.create(LEASES, lease, NAMESPACE)
        else:
            self._latest[number] = await api.update(LEASES, {**known, "spec": spec})
        return None


async def measure(profiled: str) -> None:
    beats = Beats()
    writes: dict[str, Write] = {
        "create": _create,
        "bind": _bind,
        "pulling": _patch(PULLING),
        "running": _patch(RUNNING),
        "event": _tell,
        "new lease": beats,
        "renewed lease": beats,
    }
    server = ApiServer(MemoryStorage(), SystemClock(), random.Random(1))
    profiler = cProfile.Profile()
    best = dict.fromkeys(writes, float("inf"))
    async with server.running():
        api = Api("http://localhost", InProcessTransport(server.app))
        await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, NAMESPACE)
        collect_less_often()  # as a server does
        for round_number in range(ROUNDS):
            numbers = range(round_number * PODS_A_ROUND, (round_number + 1) * PODS_A_ROUND)
            for name, write in writes.items():
                if name == profiled and round_number:
                    profiler.enable()
                began = time.process_time()
                for number in numbers:
                    await write(api, number)
                best[name] = min(best[name], time.process_time() - began)
                profiler.disable()
    for name, seconds in best.items():
        print(f"{name:15} {seconds / PODS_A_ROUND * 1e6:6.0f} µs")
    if profiled:
        profiler.print_stats("tottime")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pod_life", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="", metavar="WRITE", help="print where the time of one write goes")
    asyncio.run(measure(parser.parse_args().profile))


if __name__ == "__main__":
    main()
