"""What is told of a reconcile that failed."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.clock import SystemClock
from kubeloop.runtime.controller import Controller, Surroundings
from kubeloop.runtime.ownership import AdoptionRefused
from kubeloop.runtime.result import Result, Unfinished


class Failing:
    """Fails once and says when."""

    def __init__(self, error: Exception) -> None:
        self.error, self.was_asked = error, asyncio.Event()

    async def reconcile(self, key: ObjectKey) -> Result:
        self.was_asked.set()
        raise self.error


@pytest.mark.parametrize(
    ("error", "level", "has_traceback"),
    [
        (Conflict("somebody else wrote first"), "debug", False),
        (AdoptionRefused("replicasets.apps default/web is gone"), "debug", False),
        (NotFound('namespaces "x" not found'), "warning", False),
        (Unfinished("a claim could not be made yet"), "warning", False),
        (KeyError("a bug"), "error", True),
    ],
)
def test_how_loudly_a_failure_is_told(error: Exception, level: str, has_traceback: bool) -> None:
    """An owner that is gone is as ordinary as a conflict: the cache will know soon; only bugs have a traceback."""

    async def run() -> None:
        reconciler = Failing(error)
        controller = Controller("test", reconciler)
        controller.prepare(Surroundings(SystemClock()))
        running = asyncio.create_task(controller.run())
        controller.enqueue(ObjectKey("default", "web"))
        await reconciler.was_asked.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with capture_logs() as lines:
        asyncio.run(run())

    told = [line for line in lines if "retrying" in line["event"]]
    assert [(level, has_traceback)] == [(line["log_level"], "exc_info" in line) for line in told]
