"""`python -m bench.stages`: what a pod costs the process of simulated nodes, in the default life and under `--stages`.

An API server in memory and one process of nodes. The pods are bound from the start, so no scheduler is measured. CPU is
that of the nodes' process from the first pod until all are ready, and from the first deletion until all are gone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from bench.objects import POD
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.resource import NODES, PODS, SERVICE_ACCOUNTS
from kubeloop.client.api import Api

_AT_ONCE = 32
_LOOK_SECONDS = 5  # the lists are long
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.stages")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--sets", nargs="*", default=["fast"], help="each beside the default life")
    arguments = parser.parse_args()
    for sources in ([], *([one] for one in arguments.sets)):
        ready, gone = asyncio.run(_measure(arguments.nodes, arguments.pods, sources))
        what = sources[0] if sources else "default life"
        print(f"{what:14} {ready:6.2f} ms CPU a pod until ready, {gone:.2f} until gone")


async def _measure(nodes: int, pods: int, sources: Sequence[str]) -> tuple[float, float]:
    """Milliseconds of CPU for each pod."""
    port = _free_port()
    server = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="kubeloop-bench-") as folder:
        log = (Path(folder) / "log").open("wb")
        start = lambda *command: subprocess.Popen((sys.executable, "-m", *command), stdout=log, stderr=log)  # noqa: E731
        apiserver = start("apiserver", f"--port={port}", f"--data-dir={folder}", "--storage=memory")
        stages = [f"--stages={source}" for source in sources]
        kubelet = start("kubelet_sim", f"--master={server}", f"--nodes={nodes}", *stages)
        try:
            async with Api(server) as api:
                await _until(lambda: _ready(api, NODES, nodes))
                await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, "default")
                before = _cpu_ms(kubelet.pid)
                await _each(pods, lambda i: api.create(PODS, _pod(i, nodes)))
                await _until(lambda: _ready(api, PODS, pods))
                between = _cpu_ms(kubelet.pid)
                await _each(pods, lambda i: api.delete(PODS, f"pod-{i}", "default"))
                await _until(lambda: _are(api, 0))
                return (between - before) / pods, (_cpu_ms(kubelet.pid) - between) / pods
        finally:
            for process in (kubelet, apiserver):
                process.terminate()
                process.wait()


def _pod(i: int, nodes: int) -> dict[str, Any]:
    metadata = {"name": f"pod-{i}", "namespace": "default"}
    return {**POD, "metadata": metadata, "spec": {**POD["spec"], "nodeName": f"node-{i % nodes}"}}


async def _each(count: int, do: Callable[[int], Coroutine[Any, Any, Any]]) -> None:
    numbers = iter(range(count))

    async def work() -> None:
        for i in numbers:
            await do(i)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(work())


async def _ready(api: Api, resource: Any, count: int) -> bool:
    items = (await api.list(resource))["items"]
    return sum(is_true(conditions_of(item), "Ready") for item in items) >= count


async def _are(api: Api, count: int) -> bool:
    return len((await api.list(PODS))["items"]) == count


async def _until(holds: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    while True:
        try:
            if await holds():
                return
        except ApiError:
            pass  # not up yet
        await asyncio.sleep(_LOOK_SECONDS)


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / _TICKS


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
