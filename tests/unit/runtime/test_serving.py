"""Health and metrics of a loop process."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.client.api import Api
from kubeloop.runtime.metrics import RuntimeMetrics
from kubeloop.runtime.serving import Check, HealthChecks, HealthServer


async def ask(path: str, *, registry: CollectorRegistry | None = None, **readyz: Check) -> str:
    server = HealthServer("127.0.0.1", 0, HealthChecks({"disk": lambda: ""}, readyz), registry)
    running = asyncio.create_task(server.run())
    await server.is_listening.wait()
    try:
        async with Api(f"http://127.0.0.1:{server.port}") as api:
            text: str = await api.request("GET", path)
            return text
    finally:
        running.cancel()
        await asyncio.wait([running])


def broken() -> str:
    raise ValueError("a bug in a check")


def test_a_process_says_whether_it_lives_and_is_ready() -> None:
    """/healthz is ok from the start, /readyz once its checks are; which one is not, without saying why."""
    assert "ok" == asyncio.run(ask("/healthz", sync=lambda: "not yet"))
    assert "ok" == asyncio.run(ask("/livez/"))
    assert "ok" == asyncio.run(ask("/readyz", sync=lambda: ""))
    with pytest.raises(ApiError, match=r"\[\+\]ping ok\n\[-\]sync failed: reason withheld\nreadyz check failed"):
        asyncio.run(ask("/readyz", sync=lambda: "not yet"))


def test_checks_can_be_seen_asked_for_and_left_out() -> None:
    """`?verbose` shows each, a path of its own one of them with its reason, `?exclude` leaves one out."""
    checks = {"sync": lambda: "", "queue": lambda: "too long"}

    excluded = asyncio.run(ask("/readyz?exclude=queue&verbose", **checks))

    assert "[+]ping ok\n[+]sync ok\n[+]queue excluded: ok\nreadyz check passed\n" == excluded
    assert "[+]ping ok\n[+]disk ok\nhealthz check passed\n" == asyncio.run(ask("/healthz?verbose"))
    assert "ok" == asyncio.run(ask("/readyz/sync", **checks))
    with pytest.raises(ApiError, match="internal server error: too long"):
        asyncio.run(ask("/readyz/queue", **checks))
    for path in ("/readyz/absent", "/readyz/sync/deeper", "/elsewhere", "/"):
        with pytest.raises(NotFound):
            asyncio.run(ask(path, **checks))


def test_a_check_that_raises_has_failed() -> None:
    """The probe gets its answer all the same."""
    with pytest.raises(ApiError, match="broken failed"):
        asyncio.run(ask("/readyz", broken=broken))


def test_metrics_have_upstreams_names() -> None:
    """What the workqueue counts is found under /metrics as a Prometheus text."""
    metrics = RuntimeMetrics(CollectorRegistry())
    metrics.queue("deployment").added()

    text = asyncio.run(ask("/metrics", registry=metrics.registry))

    assert 'workqueue_adds_total{name="deployment"} 1.0' in text.splitlines()
