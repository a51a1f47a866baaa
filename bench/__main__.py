"""`make bench`: the whole stack, measured as a user would meet it, beside what a real control plane does.

Starts a throw-away stack, loads its API, rolls Deployments out and counts memory; prints a table. The figures of the
real control plane (v1.36, 2 cores, nodes with a fake runtime) are those of docs/performance.md. Absolute numbers vary
with the machine: compare runs of one machine only.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.converge import converge
from bench.fanout import fan_out
from bench.objects import CONFIG_MAP, POD
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.resource import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubeloop.client.api import Api

NAMESPACE = "bench"
# What the real control plane did on such a machine, as ranges over its runs.
REAL = {
    "cold start to 3 Ready nodes (s)": "3.9-8",
    "create ConfigMap (/s)": "1,500-1,800",
    "create Pod (/s)": "500-950",
    "get Pod (/s)": "2,300-4,300",
    "list of 500 Pods (/s)": "45-82",
    "fan-out to 200 watchers (events/s)": "58,000",
    "Deployment of 100: ready / rolled / gone (s)": "2.1-3.7 / 6.5 / 2.4",
    "Deployment of 300: ready / rolled / gone (s)": "8.8 / 26 / 7.1",
    "memory of the whole stack (MB)": "706",
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kubeloop-bench-") as folder:
        results = asyncio.run(_measure(Path(folder)))
    table = Table(title=f"kubeloop on {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for column in ("what", "kubeloop", "real v1.36"):
        table.add_column(column)
    for what, measured in results.items():
        table.add_row(what, measured, REAL.get(what, ""))
    Console().print(table)


async def _measure(folder: Path) -> dict[str, str]:
    port = _free_port()
    server = f"http://127.0.0.1:{port}"
    stack = (f"--data-dir={folder}/data",)
    began = time.perf_counter()
    up = ("up", *stack, f"--port={port}", f"--kubeconfig={folder}/kubeconfig", "--node-pods=250", "--node-cpu=64")
    _kubeloop(*up, "--node-memory=256Gi", "--detach")
    results = {"cold start to 3 Ready nodes (s)": f"{time.perf_counter() - began:.2f}"}
    try:
        async with Api(server) as api:
            await _prepare(api)
            results["memory of the whole stack (MB)"] = f"{_memory(folder / 'data'):.0f}"
            results |= await _requests(api, server, folder)
            for replicas in (100, 300):
                times = await converge(api, NAMESPACE, replicas)
                results[f"Deployment of {replicas}: ready / rolled / gone (s)"] = " / ".join(f"{t:.2f}" for t in times)
            results["memory after all that (MB)"] = f"{_memory(folder / 'data'):.0f}"
    finally:
        _kubeloop("down", *stack)
    results["default + validate + encode a Pod (µs)"] = f"{_kind_cost():.0f} (budget 250)"
    return results


def _kind_cost() -> float:
    """In a process of its own: nothing of the bench's is in its way."""
    done = subprocess.run([sys.executable, "-m", "bench.kinds"], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-2])


async def _requests(api: Api, server: str, folder: Path) -> dict[str, str]:
    """Requests a second and the 99th percentile, one kind of request after the other."""
    base = f"{server}/api/v1/namespaces/{NAMESPACE}"
    config_map, pod = folder / "configmap.json", folder / "pod.json"
    config_map.write_text(json.dumps(CONFIG_MAP))
    pod.write_text(json.dumps(POD))
    results = {"create ConfigMap (/s)": _load(f"{base}/configmaps", config_map)}
    results["create Pod (/s)"] = _load(f"{base}/pods", pod)
    name = (await api.list(PODS, NAMESPACE, limit=1))["items"][0]["metadata"]["name"]
    results["get Pod (/s)"] = _load(f"{base}/pods/{name}")
    results["list of 500 Pods (/s)"] = _load(f"{base}/pods?limit=500", connections=4)
    revision = (await api.list(CONFIG_MAPS, NAMESPACE, limit=1))["metadata"]["resourceVersion"]
    body = json.dumps(CONFIG_MAP).encode()
    fanned = await fan_out(server, NAMESPACE, revision, body, watchers=200, seconds=4.0)
    missed = f", {fanned['missed']:.0f} missed" if fanned["missed"] else ""
    results["fan-out to 200 watchers (events/s)"] = f"{fanned['events_per_s']:,.0f}{missed}"
    await api.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods?gracePeriodSeconds=0")
    return results


def _load(url: str, body: Path | None = None, connections: int = 16) -> str:
    command = [sys.executable, "-m", "bench.load", url, f"--connections={connections}"]
    done = subprocess.run(
        [*command, *([f"--body={body}"] if body else [])], capture_output=True, text=True, check=True, timeout=60
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    refused = f", {measured['refused']} refused" if measured["refused"] else ""
    return f"{measured['per_s']:,.0f} (p99 {measured['p99_ms']} ms{refused})"


async def _prepare(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    while True:
        try:
            await api.get(SERVICE_ACCOUNTS, "default", NAMESPACE)
            return
        except NotFound:
            await asyncio.sleep(0.02)
        except ApiError:
            raise


def _kubeloop(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "kubeloop.cli", *arguments], check=True, capture_output=True)


def _memory(data_dir: Path) -> float:
    """Resident memory of all processes of the stack, in MB, shared pages counted once each time they are mapped."""
    state = json.loads((data_dir / "stack.json").read_text())
    pids = [state["supervisor"]["pid"], *(process["pid"] for process in state["processes"])]
    shown = subprocess.run(
        ["ps", "-o", "rss=", "-p", ",".join(map(str, pids))], capture_output=True, text=True, check=True
    )
    return sum(int(line) for line in shown.stdout.split()) / 1024


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
