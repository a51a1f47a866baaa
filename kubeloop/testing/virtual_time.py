"""An event loop whose time is virtual: when nothing is ready it jumps to the next timer, so ten minutes pass at once.

Runs are repeatable: ready callbacks run in the order they became ready, and the sets that asyncio keeps of tasks and
futures iterate in the order of their creation. Real input and output does not pass virtual time: only a job in an
executor thread is waited for (time stands still meanwhile).
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack

Outcome = TypeVar("Outcome")
Arguments = TypeVarTuple("Arguments")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
DAY_SECONDS = 86_400.0


class Deadlock(Exception):
    """Nothing is ready and no timer is set: every task waits for ever."""


class VirtualTimeLimit(Exception):
    """More virtual time passed than the run allows: most likely a wait for something that never happens."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, limit_seconds: float = DAY_SECONDS) -> None:
        self._now = 0.0
        self._limit_seconds = limit_seconds
        self._created = 0  # numbers tasks and futures
        self._thread_jobs = 0
        super().__init__(_JumpingSelector(self))
        self.set_task_factory(_numbered_task)

    def time(self) -> float:
        return self._now

    def next_number(self) -> int:
        self._created += 1
        return self._created

    def create_future(self) -> asyncio.Future[Any]:
        return _NumberedFuture(loop=self)

    def run_in_executor(
        self, executor: Any, func: Callable[[Unpack[Arguments]], Outcome], *args: *Arguments
    ) -> asyncio.Future[Outcome]:
        """Counts the jobs in threads: while there is one, time does not jump."""
        future = super().run_in_executor(executor, func, *args)
        self._thread_jobs += 1
        future.add_done_callback(self._thread_job_done)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:  # 3.12 added a timeout
        """Waits for the executor's threads, for real."""
        self._thread_jobs += 1
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._thread_jobs -= 1

    def has_thread_jobs(self) -> bool:
        return self._thread_jobs > 0

    def jump(self, seconds: float | None) -> None:
        """Called when nothing is ready: `seconds` to the next timer, None without any."""
        if seconds is None:
            raise Deadlock("nothing is ready and no timer is set; " + self._describe_tasks())
        self._now += seconds
        if self._now > self._limit_seconds:
            raise VirtualTimeLimit(f"{self._limit_seconds:g} virtual seconds are over; " + self._describe_tasks())

    def _thread_job_done(self, _: object) -> None:
        self._thread_jobs -= 1

    def _describe_tasks(self) -> str:
        tasks = sorted(asyncio.all_tasks(self), key=hash)
        return "these tasks wait:\n" + "\n".join(f"  {task.get_name()}: {_where(task)}" for task in tasks)


class LoopClock:
    """The Clock of everything that runs in a VirtualTimeLoop."""

    def __init__(self, epoch: datetime = EPOCH) -> None:
        self._epoch = epoch

    def now(self) -> datetime:
        return self._epoch + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(
    coroutine: Coroutine[Any, Any, Outcome], seed: int = 0, limit_seconds: float = DAY_SECONDS, debug: bool = False
) -> Outcome:
    """asyncio.run on virtual time. Libraries that draw from the module `random` get the seed's numbers.

    Raises Deadlock or VirtualTimeLimit, saying which tasks wait and where.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        with asyncio.Runner(debug=debug, loop_factory=lambda: VirtualTimeLoop(limit_seconds)) as runner:
            return runner.run(coroutine)
    finally:
        random.setstate(state)


class _JumpingSelector(selectors.DefaultSelector):
    """Asked to wait, it moves the loop's time instead."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if self._loop.has_thread_jobs():
            return super().select(None)
        ready = super().select(0)
        if not ready:
            self._loop.jump(timeout)
        return ready


class _NumberedFuture(asyncio.Future):
    """Hashes to its number, so that sets of futures iterate in one order in every run."""

    def __init__(self, *, loop: VirtualTimeLoop) -> None:
        super().__init__(loop=loop)
        self._number = loop.next_number()

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _NumberedTask(asyncio.Task):
    def __init__(self, coroutine: Any, *, loop: VirtualTimeLoop, name: str | None, context: Any) -> None:
        self._number = loop.next_number()
        super().__init__(coroutine, loop=loop, name=name or f"task {self._number}", context=context)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


def _numbered_task(loop: asyncio.AbstractEventLoop, coroutine: Any, context: Any = None, name: Any = None) -> Any:
    assert isinstance(loop, VirtualTimeLoop)
    return _NumberedTask(coroutine, loop=loop, name=name, context=context)


def _where(task: asyncio.Task[Any]) -> str:
    """The innermost line of the coroutine chain that a task waits at."""
    frames = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            frames.append(f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})")
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return " > ".join(frames[-3:]) or repr(task)
