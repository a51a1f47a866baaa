"""`kubeloop scale nodes N`: the cluster is asked for another number of simulated nodes, and they are waited for."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.node_count import ASKED_FOR, MAX_NODES, ask_for
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.cli.options import UsageError
from kubeloop.cli.readiness import wait_for_nodes
from kubeloop.cli.state import one_at_a_time
from kubeloop.cli.target import Cluster
from kubeloop.client.kubeconfig import KubeconfigError, connect
from kubeloop.runtime.apply import create_or_update


async def scale_nodes(
    nodes: int, cluster: Cluster, clock: Clock, rng: random.Random, tell: Callable[[str], None]
) -> None:
    """Returns when that many nodes take pods, and the others are gone. One at a time waits for nodes of a stack."""
    if not 0 <= nodes <= MAX_NODES:
        raise UsageError(f"{nodes}: write a number of nodes from 0 to {MAX_NODES}")
    data_dir = cluster.data_dir()
    alone = one_at_a_time(data_dir, "scale", clock, tell) if data_dir is not None else nullcontext()
    try:
        async with alone, connect(cluster.kubeconfig, context=cluster.context) as api:
            where = (ASKED_FOR.name, ASKED_FOR.namespace)
            await create_or_update(api, CONFIG_MAPS, *where, lambda config_map: ask_for(config_map, nodes))
            with _progress() as progress:
                bar = progress.add_task("nodes ready", total=nodes)

                def report(ready: int) -> None:
                    progress.update(bar, completed=min(ready, nodes))

                await wait_for_nodes(api, nodes, report, clock, rng, and_no_more=True)
    except (ApiError, KubeconfigError) as error:
        raise UsageError(str(error)) from error


def _progress() -> Progress:
    """Where there is no terminal only its last state is printed."""
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
