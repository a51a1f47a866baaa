"""When a stack is ready: the API server answers, and pods can be placed on every node."""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import API_SERVICES, NODES
from kubeloop.cli.supervisor import StartFailed
from kubeloop.client.api import Api

# How long the stack may take to become ready, before anybody would rather read its logs.
READY_SECONDS = 60.0
POLL_SECONDS = 0.05

METRICS_API = "v1beta1.metrics.k8s.io"

# A node carries this taint from its creation until the node loop has seen it Ready.
NOT_READY = "node.kubernetes.io/not-ready"


async def wait_for_server(api: Api, clock: Clock) -> None:
    deadline = clock.monotonic() + READY_SECONDS
    while True:
        try:
            await api.request("GET", "/readyz")
            return
        except ApiError as error:
            if clock.monotonic() > deadline:
                raise StartFailed(f"the API server did not become ready: {error.message}") from error
        await clock.sleep(POLL_SECONDS)


async def wait_for_nodes(api: Api, wanted: int, report: Callable[[str], None], clock: Clock) -> None:
    """Until that many nodes take pods; reports how many do."""
    deadline = clock.monotonic() + READY_SECONDS + wanted / 10
    ready = -1
    while ready < wanted:
        nodes = (await api.list(NODES))["items"]
        now_ready = sum(takes_pods(node) for node in nodes)
        if now_ready != ready:
            ready = now_ready
            report(f"nodes ready: {min(ready, wanted)} of {wanted}")
        if ready < wanted:
            if clock.monotonic() > deadline:
                raise StartFailed(f"only {ready} of {wanted} nodes became ready; see kubelet-sim.log, controllers.log")
            await clock.sleep(POLL_SECONDS)


async def wait_for_metrics(api: Api, clock: Clock) -> None:
    """Until the metrics server is asked on behalf of clients."""
    deadline = clock.monotonic() + READY_SECONDS
    while True:
        try:
            found = await api.get(API_SERVICES, METRICS_API)
            if is_true(conditions_of(found), "Available"):
                return
        except NotFound:
            pass  # not registered yet
        if clock.monotonic() > deadline:
            raise StartFailed("the metrics server did not become available; see metrics-server.log")
        await clock.sleep(POLL_SECONDS)


def takes_pods(node: ReadOnlyObject) -> bool:
    """Whether a node is Ready and the scheduler is let in."""
    taints = (node.get("spec") or {}).get("taints") or ()
    return is_true(conditions_of(node), "Ready") and all(taint.get("key") != NOT_READY for taint in taints)
