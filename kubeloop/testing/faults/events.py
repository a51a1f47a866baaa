"""Watch events that come late, twice, in another order, or not at all.

What a client can see has limits, and these faults keep to them, but for one: within one watch a server never drops an
event nor changes the order. Across watches any order is natural (`StallWatches`: each lags by itself). Within a watch
`ReorderEvents` keeps the order of each object's events. What `DropEvents` drops is made good by a 410 later, as the
relist that follows makes good whatever a real informer missed.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Self

import orjson

from kubeloop.client.transport import Request, Response
from kubeloop.testing.faults.answers import refusal
from kubeloop.testing.faults.fault import Fault, Layer, Send, Site, is_watch
from kubeloop.testing.faults.lines import (
    LineReader,
    Lines,
    WatchResponse,
    expired_line,
    is_bookmark,
    object_of,
    scope_of,
)


class _WatchLayer(Layer):
    """Plays the lines of every watch through `play`."""

    async def send(self, request: Request, pass_on: Send) -> Response:
        response = await pass_on(request)
        if not is_watch(request) or response.status >= 400:
            return response
        return WatchResponse(response, lambda reader: self.play(scope_of(request), reader))

    def play(self, scope: str, reader: LineReader) -> AsyncGenerator[Lines, None]:
        """The lines as the process gets them, in batches."""
        raise NotImplementedError


@dataclass(frozen=True)
class StallWatches(Fault):
    """A stale cache: what a watch tells arrives up to `seconds` late, at once and in order. Each watch by itself."""

    seconds: float = 5.0

    def layer(self, site: Site) -> Layer:
        return _Stalling(site, self.seconds, is_shuffled=False)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.2, 2.0, 20.0)))


@dataclass(frozen=True)
class ReorderEvents(Fault):
    """Events gathered for up to `seconds` arrive in another order, each object's own order kept."""

    seconds: float = 2.0

    def layer(self, site: Site) -> Layer:
        return _Stalling(site, self.seconds, is_shuffled=True)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.2, 1.0, 5.0)))


class _Stalling(_WatchLayer):
    def __init__(self, site: Site, seconds: float, is_shuffled: bool) -> None:
        super().__init__(site)
        self._seconds, self._is_shuffled = seconds, is_shuffled

    async def play(self, scope: str, reader: LineReader) -> AsyncGenerator[Lines, None]:
        while (lines := await reader.read()) is not None:
            if self.site.is_active():
                lines = lines + await reader.gather(self._seconds * self.site.rng.random())
                if self._is_shuffled:
                    lines = _shuffled(lines, self.site.rng)
            yield lines


@dataclass(frozen=True)
class RepeatEvents(Fault):
    """`share` of the events arrive twice in a row."""

    share: float = 0.5

    def layer(self, site: Site) -> Layer:
        return _Repeating(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.2, 0.5, 1.0)))


class _Repeating(_WatchLayer):
    def __init__(self, site: Site, fault: RepeatEvents) -> None:
        super().__init__(site)
        self._fault = fault

    async def play(self, scope: str, reader: LineReader) -> AsyncGenerator[Lines, None]:
        while (lines := await reader.read()) is not None:
            yield [copy for line in lines for copy in [line] * (2 if self.site.happens(self._fault.share) else 1)]


@dataclass(frozen=True)
class DropEvents(Fault):
    """`share` of the events never arrive; up to `heal_seconds` after the first loss the watch ends with a 410."""

    share: float = 0.3
    heal_seconds: float = 30.0

    def layer(self, site: Site) -> Layer:
        return _Dropping(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.1, 0.3, 0.7)), rng.choice((2.0, 10.0, 60.0)))


class _Dropping(_WatchLayer):
    def __init__(self, site: Site, fault: DropEvents) -> None:
        super().__init__(site)
        self._fault = fault
        self._heal_at: dict[str, float] = {}  # the watches that missed something

    def process_starts(self) -> None:
        self._heal_at.clear()  # it lists everything anew

    async def send(self, request: Request, pass_on: Send) -> Response:
        if is_watch(request) and scope_of(request) in self._heal_at:
            # Resumed, it would never hear of what it missed.
            del self._heal_at[scope_of(request)]
            return refusal(410, "Expired", "events were dropped by the test")
        return await super().send(request, pass_on)

    async def play(self, scope: str, reader: LineReader) -> AsyncGenerator[Lines, None]:
        while True:
            now = self.site.clock.monotonic()
            heal_at = self._heal_at.get(scope)
            lines = await reader.read(None if heal_at is None else max(heal_at - now, 0.0))
            if lines is None:
                return
            if heal_at is not None and self.site.clock.monotonic() >= heal_at:
                del self._heal_at[scope]
                yield [expired_line("events were dropped by the test")]
                return
            kept = [line for line in lines if is_bookmark(line) or not self.site.happens(self._fault.share)]
            if len(kept) < len(lines) and heal_at is None:
                wait_seconds = self._fault.heal_seconds * self.site.rng.random()
                self._heal_at[scope] = self.site.clock.monotonic() + wait_seconds
            yield kept


def _shuffled(lines: Lines, rng: random.Random) -> Lines:
    """Bookmarks last: they promise that everything before them has been told."""
    events: dict[str, Lines] = {}
    bookmarks = []
    for line in lines:
        if is_bookmark(line):
            bookmarks.append(line)
        else:
            events.setdefault(object_of(orjson.loads(line)), []).append(line)
    turns = [name for name, own in events.items() for _ in own]
    rng.shuffle(turns)
    return [events[name].pop(0) for name in turns] + bookmarks
