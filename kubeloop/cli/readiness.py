"""When a stack is ready: the API server answers, and pods can be placed on every node."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.forwarding import is_simulated
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.node_count import ASKED_FOR, number_of_nodes
from kubeloop.apimachinery.resource import API_SERVICES, CONFIG_MAPS, NODES
from kubeloop.cli.supervisor import StartFailed
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.client.store import Delta

# How long the stack may take to become ready, before anybody would rather read its logs: busy cores take most of a
# minute for it. What ends meanwhile is told at once.
READY_SECONDS = 120.0
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


async def wait_for_nodes(
    api: Api,
    wanted: int,
    report: Callable[[int], None],
    clock: Clock,
    rng: random.Random,
    *,
    and_no_more: bool = False,
) -> None:
    """Until that many simulated nodes take pods; reports how many do, each number once. `and_no_more`: until the others
    are gone, too. StartFailed where that takes too long. Nodes that others have made are theirs.

    The nodes are watched: asking for thousands of them again and again would slow down their coming.
    """
    deadline = clock.monotonic() + READY_SECONDS + wanted / 10
    reported = -1
    async with _watched(api, clock, rng) as nodes:
        while True:
            ready = sum(nodes.values())
            if ready != reported:
                reported = ready
                report(ready)
            if ready >= wanted and not (and_no_more and len(nodes) > wanted):
                return
            if clock.monotonic() > deadline:
                break
            await clock.sleep(POLL_SECONDS)
    where = "see kubelet-sim.log, controllers.log"
    if ready < wanted:
        raise StartFailed(f"only {ready} of {wanted} nodes became ready; {where}")
    raise StartFailed(f"there are still {len(nodes)} nodes, {wanted} were asked for; {where}")


@asynccontextmanager
async def _watched(api: Api, clock: Clock, rng: random.Random) -> AsyncIterator[dict[str, bool]]:
    """By name of every simulated node whether it takes pods, kept up to date."""
    informer = Informer(api, Scope(NODES), clock, rng)
    nodes: dict[str, bool] = {}

    def note(delta: Delta) -> None:
        if delta.new is not None and is_simulated(delta.new):
            nodes[name_of(delta.new)] = takes_pods(delta.new)
        else:
            nodes.pop(name_of(delta.obj), None)

    informer.add_handler(note)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(informer.run(), name="nodes")
        await informer.wait_for_sync()
        yield nodes
        watching.cancel()


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


async def nodes_asked_for(api: Api, default: int, warn: Callable[[str], None]) -> int:
    """The number in the cluster's own ConfigMap, if there is one.

    What is no number is warned of: whoever is to mend it needs a stack that runs.
    """
    try:
        return number_of_nodes(await api.get(CONFIG_MAPS, ASKED_FOR.name, ASKED_FOR.namespace))
    except NotFound:
        return default
    except ValueError as error:
        warn(f"{error}; until then {default} nodes")
        return default


def takes_pods(node: ReadOnlyObject) -> bool:
    """Whether a node is Ready and the scheduler is let in."""
    taints = (node.get("spec") or {}).get("taints") or ()
    return is_true(conditions_of(node), "Ready") and all(taint.get("key") != NOT_READY for taint in taints)
