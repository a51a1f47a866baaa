"""Watch fan-out: many watchers of one collection while objects are created in it, and whether each saw every one."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlsplit

from bench.load import run as load


async def fan_out(
    server: str, namespace: str, revision: str, body: bytes, watchers: int, seconds: float
) -> dict[str, float]:
    """{"events_per_s", "creates_per_s", "missed"}: `missed` counts events that a watcher did not get."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    counts = [0] * watchers
    async with asyncio.TaskGroup() as tasks:
        watching = [
            tasks.create_task(_watch(server, f"{path}?watch=1&resourceVersion={revision}", counts, i))
            for i in range(watchers)
        ]
        await asyncio.sleep(1)
        began = time.perf_counter()
        created = await load(server + path, body, 8, seconds)
        total = -1
        while sum(counts) != total:
            total = sum(counts)
            last = time.perf_counter()
            await asyncio.sleep(0.5)
        for task in watching:
            task.cancel()
    return {
        "events_per_s": round(total / (last - began)),
        "creates_per_s": created["per_s"],
        "missed": max(counts) * watchers - total,
    }


async def _watch(server: str, path: str, counts: list[int], i: int) -> None:
    parts = urlsplit(server)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    try:
        while data := await reader.read(1 << 18):
            counts[i] += data.count(b'{"type":"ADDED"')
    finally:
        writer.close()
