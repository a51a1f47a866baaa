"""How long a request may take: --request-timeout, or less where the client says so (`?timeout=5s`).

A write is told 504 when its time is over, wherever it is: it may have been carried out or not, as with every answer
that does not come. Reads wait for nobody and have no time of their own but what their client gives them; watches end
by themselves. Words are those of apiserver/pkg/endpoints/filters/request_deadline.go (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from apiserver.auth.gate import LONG_SUBRESOURCES
from apiserver.registry.options import Query, first
from kubeloop.apimachinery.errors import BadRequest, Timeout
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds
from kubeloop.time_limit import TimeLimit

_READS = frozenset({"get", "list"})

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Times:
    """Flags of the server."""

    request_seconds: float = 60.0
    min_watch_seconds: float = 1800.0  # of a watch that names no time, times 1 to 2 by chance


USUAL = Times()


def seconds_of(verb: str, subresource: str, query: Query, most: float) -> float | None:
    """The time a request has; None: as long as it takes. BadRequest where the client's word is no duration."""
    if verb == "watch" or subresource in LONG_SUBRESOURCES:
        return None
    seconds = None if verb in _READS else most
    text = first(query, "timeout") if "timeout" in query else ""
    if not text:
        return seconds
    if why := duration_error(text):
        raise BadRequest(f"invalid timeout specified in the request URL - time: {why}")
    asked = duration_seconds(text)
    return asked if 0 < asked < most else seconds


async def within(seconds: float | None, carrying_out: Awaitable[Result]) -> Result:
    """What comes of a request, if it comes in time; else Timeout. Without a limit there is no timer either."""
    if seconds is None:
        return await carrying_out
    timer = asyncio.timeout(seconds)
    try:
        async with timer:
            return await carrying_out
    except TimeoutError as error:
        if not timer.expired():
            raise
        raise _too_late() from error


class Deadlines:
    """The time that requests usually have: a timer each would cost a write more than finding its way does."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._limit = seconds, TimeLimit(seconds)

    def within(self, seconds: float | None, carrying_out: Awaitable[Result]) -> Awaitable[Result]:
        """As the function does; cheaper where `seconds` is the usual time."""
        return self._in_usual_time(carrying_out) if seconds == self._seconds else within(seconds, carrying_out)

    async def _in_usual_time(self, carrying_out: Awaitable[Result]) -> Result:
        piece = self._limit.begin()
        try:
            return await carrying_out
        except asyncio.CancelledError as error:
            if not self._limit.has_ended(piece):
                raise
            raise _too_late() from error
        finally:
            self._limit.end(piece)


def _too_late() -> Timeout:
    why = "request did not complete within requested timeout - context deadline exceeded"
    return Timeout(f"Timeout: {why}", details={})
