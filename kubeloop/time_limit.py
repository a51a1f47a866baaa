"""A time limit that thousands of short pieces of work share, and that hardly any of them ever reaches.

`asyncio.timeout` sets and cancels a timer for each piece, a tenth of what a small request costs. Here one timer is set
for the oldest piece, once in as long as the limit is; what comes of a piece that is overdue is the same.
"""

from __future__ import annotations

import asyncio


class Piece:
    """Of work under way. `wishes`: how often its task had been asked to end before this limit asked."""

    __slots__ = ("deadline", "is_overdue", "task", "wishes")

    def __init__(self, task: asyncio.Task[object], deadline: float) -> None:
        self.task, self.deadline = task, deadline
        self.wishes, self.is_overdue = task.cancelling(), False


class TimeLimit:
    """Of `seconds` for each piece. Used by one event loop after another, but not by two at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._under_way: dict[Piece, None] = {}  # the oldest first, so that with the nearest deadline
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> Piece:
        """The current task begins something; `end` is to be called in any case."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        piece = Piece(task, loop.time() + self._seconds)
        self._under_way[piece] = None
        if self._timer is None or self._loop is not loop:
            self._loop = loop
            self._timer = loop.call_at(piece.deadline, self._look)
        return piece

    def end(self, piece: Piece) -> None:
        del self._under_way[piece]

    def has_ended(self, piece: Piece) -> bool:
        """Of a piece that was cancelled: whether this limit did it, and nobody else wants its task to end."""
        return piece.is_overdue and piece.task.uncancel() <= piece.wishes

    def _look(self) -> None:
        """Cancels what is overdue, and looks again when the next piece would be."""
        assert self._loop is not None
        now, self._timer = self._loop.time(), None
        for piece in self._under_way:
            if piece.deadline > now:
                self._timer = self._loop.call_at(piece.deadline, self._look)
                return
            if not piece.is_overdue:
                piece.is_overdue = True
                piece.task.cancel()
