"""What others answer to a container whose log is read: its command asked them, and nobody noted what they said.

They are asked when the log is read, so it says what they answer then, or nothing where they do not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kubelet_sim.log import Line
from kubelet_sim.shell.effects import Ask
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError

# `(what is asked, the namespace of whoever asks) -> the answer`. Raises ApiError.
Answer = Callable[[Ask, str], Awaitable[Any]]

FRESH_SECONDS = 1.0  # a loop that asks a hundred times a second is told the same meanwhile
_MAX_KNOWN = 100  # answers; when there are more all are asked for anew


class Answers:
    """For one reader of one log."""

    def __init__(self, answer: Answer, namespace: str, clock: Clock) -> None:
        self._answer, self._namespace, self._clock = answer, namespace, clock
        self._known: dict[tuple[str, str, int], tuple[float, Any]] = {}  # when it was asked, and the answer

    async def known(self, line: Line) -> Sequence[Line]:
        """The lines that are written where a line may be unknown."""
        if line.unknown is None:
            return (line,)
        try:
            text = line.unknown.told(await self._said(line.unknown.ask))
        except ApiError:
            return ()
        return [Line(line.after_seconds, line.stream, one) for one in text.splitlines()]

    async def _said(self, ask: Ask) -> Any:
        """Of a page the path makes no difference."""
        key, now = (ask.what, ask.name.partition("/")[0], ask.port), self._clock.monotonic()
        if key not in self._known or now - self._known[key][0] >= FRESH_SECONDS:
            answer = await self._answer(ask, self._namespace)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = now, answer
        return self._known[key][1]
