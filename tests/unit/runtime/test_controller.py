"""What follows from each ending of a reconcile, what is told of it and what is counted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.clock import SystemClock
from kubeloop.runtime.controller import Controller, Surroundings
from kubeloop.runtime.metrics import RuntimeMetrics
from kubeloop.runtime.ownership import AdoptionRefused
from kubeloop.runtime.rate_limiter import FastThenSlow
from kubeloop.runtime.result import DONE, REQUEUE, RequeueAfter, Result, TerminalError, Unfinished
from kubeloop.testing.virtual_time import LoopClock, run

WEB = ObjectKey("default", "web")
RESULTS = ("success", "error", "requeue", "requeue_after")


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

    async def main() -> None:
        reconciler = Failing(error)
        controller = Controller("test", reconciler)
        controller.prepare(Surroundings(SystemClock()))
        running = asyncio.create_task(controller.run())
        controller.enqueue(ObjectKey("default", "web"))
        await reconciler.was_asked.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with capture_logs() as lines:
        asyncio.run(main())

    told = [line for line in lines if "retrying" in line["event"]]
    assert [(level, has_traceback)] == [(line["log_level"], "exc_info" in line) for line in told]


class Slow(LoopClock):
    """Time passes by working, without anybody waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.worked = 0.0

    def monotonic(self) -> float:
        return self.worked


def test_reconciles_that_never_wait_give_way() -> None:
    """However many keys are ready, others in the process get their turn after some hundredths of a second."""
    clock = Slow()

    class Busy:
        async def reconcile(self, key: ObjectKey) -> Result:
            clock.worked += 0.004
            controller.enqueue(key)  # there is always one more
            return DONE

    controller = Controller("test", Busy())

    async def main() -> float:
        controller.prepare(Surroundings(clock))
        controller.enqueue(WEB)
        running = asyncio.create_task(controller.run())
        for _ in range(5):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return clock.worked

    assert run(main()) < 0.1


def samples(registry: CollectorRegistry) -> dict[str, float]:
    """By name, and result where there is one."""
    found = [sample for family in registry.collect() for sample in family.samples]
    return {f"{sample.name} {sample.labels.get('result', '')}".strip(): sample.value for sample in found}


class Scripted:
    """Ends its reconciles as the list says, then with DONE; `times` and `priorities` are those it was asked with."""

    def __init__(self, *endings: Any) -> None:
        self.endings, self.times = list(endings), list[float]()
        self.priorities: list[int] = []

    async def reconcile(self, key: ObjectKey) -> Result:
        self.times.append(round(self.clock.monotonic(), 3))
        self.priorities.append(self.controller.queue.priority_of(key))
        ending = self.endings.pop(0) if self.endings else DONE
        if isinstance(ending, BaseException):
            raise ending
        if isinstance(ending, int | float):  # so long does it take
            await self.clock.sleep(ending)
            return DONE
        returned: Result = ending
        return returned

    def follow(self, priority: int = 0, **options: Any) -> Scripted:
        """What became of one key within hours."""
        run(self._follow(priority, **options))
        return self

    async def _follow(self, priority: int, **options: Any) -> None:
        self.clock = LoopClock()
        self.controller = Controller("test", self, **options)
        registry = CollectorRegistry()
        self.controller.prepare(Surroundings(self.clock, RuntimeMetrics(registry)))
        running = asyncio.create_task(self.controller.run())
        self.controller.enqueue(WEB, priority)
        await self.clock.sleep(20_000)
        self.samples = samples(registry)
        running.cancel()
        await asyncio.wait([running])


def test_requeue_waits_longer_each_time_and_done_forgets() -> None:
    """REQUEUE is a failure's backoff without the failure; after DONE or RequeueAfter the next one starts at 5 ms."""
    scripted = Scripted(REQUEUE, REQUEUE, REQUEUE, RequeueAfter(10), REQUEUE).follow()

    assert [0, 0.005, 0.015, 0.035, 10.035, 10.04] == scripted.times


def test_a_controller_has_the_rate_limiter_it_is_given() -> None:
    """Failures wait as long as it says."""
    scripted = Scripted(*[ValueError()] * 3).follow(rate_limiter=FastThenSlow(1, 60, 2))

    assert [0, 1, 2, 62] == scripted.times


def test_a_retry_keeps_its_priority() -> None:
    """After a failure, REQUEUE and RequeueAfter a key has the priority it had, unless the result gives another."""
    scripted = Scripted(ValueError(), REQUEUE, RequeueAfter(1), RequeueAfter(1, priority=3)).follow(priority=-100)

    assert [-100, -100, -100, -100, 3] == scripted.priorities


def test_a_reconcile_that_takes_too_long_is_cancelled_and_tried_again() -> None:
    """After `timeout_seconds` the worker is free again; the reconciler's own TimeoutError is another thing."""
    with capture_logs() as lines:
        scripted = Scripted(1000.0, TimeoutError("the database"), 29.0).follow(timeout_seconds=30)

    assert [0, 30.005, 30.015] == scripted.times
    told = [str(line.get("error") or line.get("exc_info")) for line in lines if "retrying" in line["event"]]
    assert ["reconcile took more than 30 seconds", "the database"] == told


@pytest.mark.parametrize(
    "ending",
    [
        asyncio.CancelledError(),  # of a task that was waited for
        None,
        "done",
        RequeueAfter(float("nan")),
        RequeueAfter("5"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_ending_is_an_error_that_stops_nobody(ending: Any) -> None:
    """The worker goes on, and the key waits longer each time."""
    with capture_logs() as lines:
        scripted = Scripted(ending, ending).follow()

    assert [0, 0.005, 0.015] == scripted.times
    assert ["error", "error"] == [line["log_level"] for line in lines if "retrying" in line["event"]]
    assert 2 == scripted.samples["controller_runtime_reconcile_errors_total"]


def test_reconciles_are_counted_under_controller_runtimes_names() -> None:
    """By result, with errors, terminal ones, timeouts and bugs beside it; times and workers too."""
    endings = (ValueError(), Conflict("x"), 99.0, REQUEUE, RequeueAfter(1), TerminalError("x"))
    found = Scripted(*endings).follow(timeout_seconds=9, workers=3).samples

    by_result = {result: found.get(f"controller_runtime_reconcile_total {result}") for result in RESULTS}
    assert {"success": 0, "error": 4, "requeue": 1, "requeue_after": 1} == by_result
    assert {
        "controller_runtime_reconcile_errors_total": 4,
        "controller_runtime_reconcile_panics_total": 1,
        "controller_runtime_reconcile_timeouts_total": 1,
        "controller_runtime_terminal_reconcile_errors_total": 1,
        "controller_runtime_reconcile_time_seconds_count": 6,
        "controller_runtime_reconcile_time_seconds_sum": 9,
        "controller_runtime_active_workers": 0,
        "controller_runtime_max_concurrent_reconciles": 3,
        "workqueue_retries_total": 4,
    }.items() <= found.items()


def test_work_under_way_can_be_seen_before_it_ends() -> None:
    """A reconcile that hangs shows in the workqueue's gauges while it does."""

    class Hanging:
        async def reconcile(self, key: ObjectKey) -> Result:
            await asyncio.Event().wait()
            return DONE

    async def main() -> list[float]:
        clock, registry = LoopClock(), CollectorRegistry()
        controller = Controller("test", Hanging(), workers=2)
        controller.prepare(Surroundings(clock, RuntimeMetrics(registry)))
        running = asyncio.create_task(controller.run())
        controller.enqueue(WEB)
        await clock.sleep(40)
        controller.enqueue(ObjectKey("default", "db"))
        await clock.sleep(2)
        names = ("workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds")
        found = [samples(registry)[name] for name in names]
        running.cancel()
        await asyncio.wait([running])
        return found

    assert [44, 42] == run(main())
