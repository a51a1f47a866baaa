"""Where a journal's blocking calls run: in a thread of their own, or in the event loop itself.

`ThreadExecutor` keeps the event loop free while SQLite works (it releases the GIL). `InlineExecutor` runs the call at
once, which makes a whole cluster in one process deterministic. Work runs one piece at a time, in the order given.

Handing a piece over is not free: two threads that both want the GIL cost about a fifth of a busy server's CPU. So
whoever has work for a millisecond asks `is_free` first, and does it himself where nothing else is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

# Called in the event loop with (result, None) or (None, error).
Done = Callable[[Any, Exception | None], None]


class Executor(Protocol):
    @property
    def is_free(self) -> bool:
        """Nothing is under way: a short piece of work may be done in the event loop right now."""
        ...

    def start(self) -> None:
        """Called in the event loop that `done` will be called in."""
        ...

    def submit(self, work: Callable[[], Any], done: Done) -> None: ...

    def close(self) -> None:
        """Stop once the work given so far is done; its `done` calls still come."""
        ...


class InlineExecutor:
    is_free = True

    def start(self) -> None:
        pass

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        done(*_outcome(work))

    def close(self) -> None:
        pass


class ThreadExecutor:
    """One daemon thread. Its queue needs no bound: the log has one batch under way and its readers await theirs.

    Only `call_soon_threadsafe` leads from the thread into the event loop.
    """

    def __init__(self, name: str = "storage") -> None:
        self._name = name
        self._queue: SimpleQueue[tuple[Callable[[], Any], Done] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._under_way = 0  # counted in the event loop: given, and not yet answered

    @property
    def is_free(self) -> bool:
        return not self._under_way

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(loop,), name=self._name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        self._under_way += 1

        def finished(result: Any, error: Exception | None) -> None:
            self._under_way -= 1
            done(result, error)

        self._queue.put((work, finished))

    def close(self) -> None:
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (item := self._queue.get()) is not None:
            work, done = item
            outcome = _outcome(work)
            # A loop that was closed without closing the log has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(done, *outcome)


async def call(executor: Executor, work: Callable[[], T]) -> T:
    """Await one piece of work. A cancelled caller leaves the work itself to finish."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(result: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    executor.submit(work, done)
    return await future


def _outcome(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    # Whatever goes wrong belongs to whoever asked for the work, in their own task.
    try:
        return work(), None
    except Exception as error:
        return None, error
