"""Health and metrics of a loop process."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from kubeloop.apimachinery.errors import ApiError
from kubeloop.client.api import Api
from kubeloop.runtime.metrics import RuntimeMetrics
from kubeloop.runtime.serving import HealthServer


async def ask(path: str, *, is_ready: bool = True, registry: CollectorRegistry | None = None) -> str:
    server = HealthServer("127.0.0.1", 0, lambda: is_ready, registry)
    running = asyncio.create_task(server.run())
    await server.is_listening.wait()
    try:
        async with Api(f"http://127.0.0.1:{server.port}") as api:
            text: str = await api.request("GET", path)
            return text
    finally:
        running.cancel()
        await asyncio.wait([running])


def test_a_process_says_whether_it_lives_and_is_ready() -> None:
    """/healthz is ok from the start, /readyz once the informers know the world."""
    assert "ok" == asyncio.run(ask("/healthz", is_ready=False))
    assert "ok" == asyncio.run(ask("/readyz?verbose"))
    with pytest.raises(ApiError, match="informers have not synced"):
        asyncio.run(ask("/readyz", is_ready=False))


def test_metrics_have_upstreams_names() -> None:
    """What the workqueue counts is found under /metrics as a Prometheus text."""
    metrics = RuntimeMetrics(CollectorRegistry())
    metrics.queue("deployment").added()

    text = asyncio.run(ask("/metrics", registry=metrics.registry))

    assert 'workqueue_adds_total{name="deployment"} 1.0' in text.splitlines()
