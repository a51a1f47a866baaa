"""Where a journal's blocking calls run: in a thread of their own, or in the event loop itself.

`ThreadExecutor` keeps the event loop free while SQLite works (it releases the GIL). `InlineExecutor` runs the call at
once, which makes a whole cluster in one process deterministic. Work runs one piece at a time, in the order given.
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
    def start(self) -> None:
        """Called in the event loop that `done` will be called in."""
        ...

    def submit(self, work: Callable[[], Any], done: Done) -> None: ...

    def close(self) -> None:
        """Stop once the work given so far is done; its `done` calls still come."""
        ...


class InlineExecutor:
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

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(loop,), name=self._name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        self._queue.put((work, done))

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
