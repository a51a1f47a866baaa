"""Many simulated nodes: what they cost while nothing happens, and how soon they run many pods.

    python -m bench.scale [--nodes 1000] [--pods 10000] [--deployments 10] [--idle 30]

Starts a throw-away stack. Prints how long the nodes took to come, the CPU of each process and the revisions written
while they were idle, and then, for `--pods` pods of several Deployments, the seconds until all are Running and the
latencies of a client that reads a node and writes a ConfigMap every 50 ms meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import time
from pathlib import Path

from kubeloop.apimachinery.resource import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS
from kubeloop.cli.options import UpOptions
from kubeloop.cli.state import StackState
from kubeloop.cli.throwaway import ThrowAwayStack
from kubeloop.client.api import Api

NAMESPACE = "default"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROBE_SECONDS = 0.05
LOOK_SECONDS = 0.5


async def measure(nodes: int, pods: int, deployments: int, idle_seconds: float) -> None:
    began = time.perf_counter()
    async with ThrowAwayStack(UpOptions(nodes=nodes)) as stack, Api(stack.server) as api:
        data_dir = stack.options.data_dir
        print(f"{nodes} nodes ready after {time.perf_counter() - began:.1f} s")
        if idle_seconds:
            await asyncio.sleep(10.0)  # what their coming left to do is over
            await _idle(api, data_dir, idle_seconds)
        if pods:
            await _run_pods(api, data_dir, pods, deployments)


async def _idle(api: Api, data_dir: Path, seconds: float) -> None:
    before, revision, log = cpu_seconds(data_dir), await _revision(api), _log_bytes(data_dir)
    await asyncio.sleep(seconds)
    after = cpu_seconds(data_dir)
    revisions, grown = await _revision(api) - revision, _log_bytes(data_dir) - log
    print(f"idle for {seconds:.0f} s: {revisions} revisions, log {grown:+,} bytes")
    _print_cores(before, after, seconds)


async def _run_pods(api: Api, data_dir: Path, pods: int, deployments: int) -> None:
    latencies: dict[str, list[float]] = {"GET node": [], "PUT ConfigMap": []}
    before, began = cpu_seconds(data_dir), time.perf_counter()
    probing = asyncio.create_task(_probe(api, latencies))
    for number in range(deployments):
        await api.create(DEPLOYMENTS, _deployment(f"web-{number}", pods // deployments), NAMESPACE)
    running = 0
    while running < pods // deployments * deployments:
        await asyncio.sleep(LOOK_SECONDS)
        running = sum([await _ready(api, f"web-{number}") for number in range(deployments)])
    seconds = time.perf_counter() - began
    probing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await probing
    print(f"{running} pods Running and Ready after {seconds:.1f} s, {running / seconds:.0f}/s")
    for what, measured in latencies.items():
        measured.sort()
        p50, p99 = (measured[int(len(measured) * share)] * 1000 for share in (0.5, 0.99))
        print(
            f"  {what:14} {len(measured)} times: p50 {p50:.0f} ms, p99 {p99:.0f} ms, max {measured[-1] * 1000:.0f} ms"
        )
    _print_cores(before, cpu_seconds(data_dir), seconds)
    phases = {pod["status"]["phase"] for pod in (await api.list(PODS, NAMESPACE))["items"]}
    print(f"  phases: {', '.join(sorted(phases))}")


async def _probe(api: Api, latencies: dict[str, list[float]]) -> None:
    """A user's requests beside the loops', one kind after the other."""
    config_map = await api.create(CONFIG_MAPS, {"metadata": {"name": "probe"}}, NAMESPACE)
    number = 0
    while True:
        began = time.perf_counter()
        await api.get(NODES, "node-0")
        latencies["GET node"].append(time.perf_counter() - began)
        number += 1
        began = time.perf_counter()
        config_map = await api.update(CONFIG_MAPS, {**config_map, "data": {"number": str(number)}})
        latencies["PUT ConfigMap"].append(time.perf_counter() - began)
        await asyncio.sleep(PROBE_SECONDS)


def _deployment(name: str, replicas: int) -> dict[str, object]:
    labels = {"app": name}
    container = {"name": "c", "image": "nginx:1.27", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


async def _ready(api: Api, name: str) -> int:
    status = (await api.get(DEPLOYMENTS, name, NAMESPACE)).get("status", {})
    return int(status.get("readyReplicas", 0))


async def _revision(api: Api) -> int:
    return int((await api.list(CONFIG_MAPS, NAMESPACE, limit=1))["metadata"]["resourceVersion"])


def _log_bytes(data_dir: Path) -> int:
    """Of the database and its write-ahead log."""
    return sum(file.stat().st_size for file in data_dir.glob("*.db*"))


def cpu_seconds(data_dir: Path) -> dict[str, float]:
    """CPU time of each process of the stack so far, in seconds."""
    state = StackState.load(data_dir)
    assert state is not None, "a stack that was started has a stack.json"
    return {process.name: _cpu(process.pid) for process in state.processes}


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _print_cores(before: dict[str, float], after: dict[str, float], seconds: float) -> None:
    cores = {name: (after[name] - before.get(name, 0.0)) / seconds for name in after}
    print(f"  cores: {sum(cores.values()):.2f} in all, {sum(after.values()) - sum(before.values()):.0f} s of CPU")
    for name, used in sorted(cores.items(), key=lambda item: -item[1]):
        print(f"    {name:24} {used:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--deployments", type=int, default=10)
    parser.add_argument("--idle", type=float, default=30.0, help="seconds; 0 leaves it out")
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.nodes, arguments.pods, arguments.deployments, arguments.idle))


if __name__ == "__main__":
    main()
