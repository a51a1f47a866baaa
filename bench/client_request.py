"""CPU and wall time of one small request through kubeloop.client, beside httpx's own transport.

python -m apiserver --storage memory --port 8001 &
python bench/client_request.py http://127.0.0.1:8001
"""

from __future__ import annotations

import asyncio
import sys
import time

import httpx

from kubeloop.client.api import Api

REQUESTS = 2000
PATH = "/api/v1/namespaces/default"


async def measure(name: str, api: Api, concurrency: int) -> None:
    async def work() -> None:
        for _ in range(REQUESTS // concurrency):
            await api.request("GET", PATH)

    await work()  # warm
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{name:16} x{concurrency:<3} {cpu / REQUESTS * 1e6:6.0f} us CPU {wall / REQUESTS * 1e6:6.0f} us wall a request"
    )


async def main(base_url: str) -> None:
    for concurrency in (1, 8):
        async with Api(base_url) as api:
            await measure("kubeloop.client", api, concurrency)
        async with Api(base_url, httpx.AsyncHTTPTransport(trust_env=False)) as api:
            await measure("over httpx", api, concurrency)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
