"""Resource versions that are forgotten or old: 410, history told again, lists of yesterday, connections cut."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlencode

from kubeloop.client.transport import ConnectionFailed, Request, Response
from kubeloop.testing.faults.answers import refusal
from kubeloop.testing.faults.fault import Fault, Layer, Send, Site, is_watch
from kubeloop.testing.faults.lines import LineReader, Lines, WatchResponse, expired_line, scope_of


@dataclass(frozen=True)
class ExpireWatches(Fault):
    """Watches end with a 410 after up to `seconds`, in the middle or as they begin: everything is listed anew.

    `limit` times in all: a quiet hour is no place for thousands of lists.
    """

    seconds: float = 20.0
    limit: int = 60

    def layer(self, site: Site) -> Layer:
        return _Ending(site, self.seconds, self.limit, is_cut=False)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((1.0, 5.0, 30.0)))


@dataclass(frozen=True)
class CutWatches(Fault):
    """Watches break off after up to `seconds`, `limit` times in all; they resume from the last version seen."""

    seconds: float = 20.0
    limit: int = 60

    def layer(self, site: Site) -> Layer:
        return _Ending(site, self.seconds, self.limit, is_cut=True)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((1.0, 5.0, 30.0)))


class _Ending(Layer):
    _AT_ONCE = 0.2  # this share of the watches that end by 410 does not even begin

    def __init__(self, site: Site, seconds: float, limit: int, is_cut: bool) -> None:
        super().__init__(site)
        self._seconds, self._left, self._is_cut = seconds, limit, is_cut

    async def send(self, request: Request, pass_on: Send) -> Response:
        if not is_watch(request) or not self.site.is_active() or self._left <= 0:
            return await pass_on(request)
        self._left -= 1
        if not self._is_cut and self.site.happens(self._AT_ONCE):
            return refusal(410, "Expired", "too old resource version, says the test")
        response = await pass_on(request)
        return response if response.status >= 400 else WatchResponse(response, self._play)

    async def _play(self, reader: LineReader) -> AsyncGenerator[Lines, None]:
        clock = self.site.clock
        end = clock.monotonic() + self._seconds * self.site.rng.random()
        while (lines := await reader.read(max(end - clock.monotonic(), 0.0))) is not None:
            yield lines
            if clock.monotonic() < end:
                continue
            if not self.site.is_active():
                end = float("inf")
            elif self._is_cut:
                raise ConnectionFailed("connection cut by the test")
            else:
                yield [expired_line("too old resource version, says the test")]
                return


@dataclass(frozen=True)
class ReplayEvents(Fault):
    """A watch that resumes begins up to `seconds` before the version it asks for: it hears old events once more."""

    may_double = True
    seconds: float = 30.0

    def layer(self, site: Site) -> Layer:
        return _Old(site, self.seconds, is_replay=True)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((2.0, 10.0, 60.0)))


@dataclass(frozen=True)
class StaleLists(Fault):
    """The first list that an informer makes after a restart is up to `seconds` old, as by an API server that lags.

    So a process may come to life without a memory of what it did, and not see it either, until its watch tells.
    Only informers are lied to: a list whose path the process never watched stays a consistent read.
    """

    may_double = True
    seconds: float = 10.0

    def layer(self, site: Site) -> Layer:
        return _Old(site, self.seconds, is_replay=False)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((1.0, 5.0, 30.0)))


class _Old(Layer):
    def __init__(self, site: Site, seconds: float, is_replay: bool) -> None:
        super().__init__(site)
        self._seconds, self._is_replay = seconds, is_replay
        self._watched: set[str] = set()
        self._listed: set[str] = set()  # in this life

    def process_starts(self) -> None:
        self._listed.clear()

    async def send(self, request: Request, pass_on: Send) -> Response:
        if is_watch(request):
            self._watched.add(scope_of(request))
            if self._is_replay and self.site.is_active():
                request = self._from_earlier(request)
        elif not self._is_replay and self.site.is_active() and self._is_first_list(request):
            request = self._of_yesterday(request)
        return await pass_on(request)

    def _earlier(self) -> int:
        """A revision of some moment not longer ago than `seconds`; 0 where nothing was written since."""
        known = self.site.revisions(self._seconds)
        return self.site.rng.choice(known) if known else 0

    def _from_earlier(self, request: Request) -> Request:
        path, query = _split(request)
        earlier, asked = self._earlier(), int(query.get("resourceVersion") or 0)
        if not 0 < earlier < asked:
            return request
        return request._replace(target=f"{path}?{urlencode({**query, 'resourceVersion': earlier})}")

    def _is_first_list(self, request: Request) -> bool:
        scope = scope_of(request)
        if request.method != "GET" or scope not in self._watched or scope in self._listed:
            return False
        self._listed.add(scope)
        return True

    def _of_yesterday(self, request: Request) -> Request:
        path, query = _split(request)
        earlier = self._earlier()
        if not earlier or "resourceVersion" in query or "continue" in query:
            return request
        exact = {**query, "resourceVersion": earlier, "resourceVersionMatch": "Exact"}
        return request._replace(target=f"{path}?{urlencode(exact)}")


def _split(request: Request) -> tuple[str, dict[str, str]]:
    path, _, query = request.target.partition("?")
    return path, dict(parse_qsl(query))
