"""/containerLogs: the log of one run of a container, all of it or its end, and on as it is written.

A run is known by its status, to the second, so that the same log is told by every process that plays the node.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from kubelet_sim import log
from kubelet_sim.log import Line
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.pods import Pods, SeenRun, container_of, logged_run, the_run, wait
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import parse_time
from kubeloop.runtime.http_request import Request

# A status has whole seconds: what a run that is over wrote within its last one is in its log.
_LAST_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.001
_LINES_AT_ONCE = 500  # then others get a turn
_STREAMS = {"": (log.STDOUT, log.STDERR), "All": (log.STDOUT, log.STDERR)} | {
    "Stdout": (log.STDOUT,),
    "Stderr": (log.STDERR,),
}


@dataclass(frozen=True, slots=True)
class Options:
    """PodLogOptions; None where something is not limited."""

    follows: bool = False
    is_previous: bool = False
    has_timestamps: bool = False
    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    streams: tuple[int, ...] = (log.STDOUT, log.STDERR)

    @classmethod
    def of(cls, request: Request, now: datetime) -> Options:
        """Refused where they cannot be read; the API server has read them before."""
        since = None
        try:
            if text := request.first("sinceTime"):
                since = parse_time(text)
            if text := request.first("sinceSeconds"):
                since = now - timedelta(seconds=int(text))
            tail, limit = request.first("tailLines"), request.first("limitBytes")
            return cls(
                request.first("follow") == "true",
                request.first("previous") == "true",
                request.first("timestamps") == "true",
                since,
                int(tail) if tail else None,
                int(limit) if limit else None,
                _STREAMS[request.first("stream")],
            )
        except (ValueError, KeyError, OverflowError) as error:
            raise Refused(400, '{"message": "Unable to decode query."}') from error


class ContainerLogs:
    def __init__(self, pods: Pods, clock: Clock) -> None:
        self._pods, self._clock = pods, clock

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        if len(path) != 3:
            raise Refused(400, '{"message": "Missing container name."}')
        namespace, name, container = path
        options = Options.of(request, self._clock.now())
        pod = self._pods.get(namespace, name)
        container_of(pod, container)
        run = logged_run(pod, container, options.is_previous)
        try:
            async with asyncio.TaskGroup() as tasks:
                hang_up = tasks.create_task(exchange.until_hung_up())
                await exchange.begin_stream()
                async for data in self.stream(pod, container, run, options):
                    await exchange.write(data)
                await exchange.end_stream()
                hang_up.cancel()
        except* HungUp:
            pass

    async def stream(self, pod: Object, container: str, run: SeenRun, options: Options) -> AsyncIterator[bytes]:
        """The log in pieces, until its end, or until now where nobody follows."""
        left = options.limit_bytes
        async for line in self.lines(pod, container, run, options):
            data = _shown(line, run, options)
            if left is not None:
                data = data[:left]
                left -= len(data)
            if data:
                yield data
            if left == 0:
                return

    async def lines(self, pod: Object, container: str, run: SeenRun, options: Options) -> AsyncIterator[Line]:
        """The same line by line, whatever its size."""
        spec, now = container_of(pod, container), self._clock.now()
        until = _seconds(run, now)
        written = log.lines(pod, spec, run.started_at, max(0.0, until - log.KEPT_SECONDS))
        past, ahead = deque[Line](maxlen=options.tail_lines), None
        for count, line in enumerate(written, 1):
            if line.after_seconds >= until:
                ahead = line
                break
            if _is_wanted(line, run, options):
                if options.tail_lines is None:
                    yield line
                else:
                    past.append(line)
            if count % _LINES_AT_ONCE == 0:
                await self._clock.sleep(0)
        for line in past:
            yield line
        if options.follows and run.finished_at is None:
            rest = chain(() if ahead is None else (ahead,), written)
            async for line in self._ahead(pod, container, run, rest):
                if _is_wanted(line, run, options):
                    yield line

    async def _ahead(self, pod: Object, container: str, run: SeenRun, lines: Iterator[Line]) -> AsyncIterator[Line]:
        """Each line when its time comes, until the run is over."""
        line = next(lines, None)
        with self._pods.changes(pod) as changed:
            while True:
                current = self._pods.again(pod)
                seen = the_run(current, container, run.id) if current is not None else None
                is_over = seen is None or seen.finished_at is not None
                until = _seconds(seen or run, self._clock.now())
                while line is not None and line.after_seconds < until:
                    yield line
                    line = next(lines, None)
                if is_over:
                    return
                await wait(changed, None if line is None else max(line.after_seconds - until, _SHORTEST_WAIT_SECONDS))


def _seconds(run: SeenRun, now: datetime) -> float:
    """Lines before this moment have been written; never the one of this very moment."""
    if run.finished_at is not None:
        return (run.finished_at - run.started_at).total_seconds() + _LAST_SECONDS
    return max((now - run.started_at).total_seconds(), _LAST_SECONDS / 1000)


def _is_wanted(line: Line, run: SeenRun, options: Options) -> bool:
    if line.stream not in options.streams:
        return False
    return options.since is None or run.started_at + timedelta(seconds=line.after_seconds) >= options.since


def _shown(line: Line, run: SeenRun, options: Options) -> bytes:
    text = line.text.encode("utf-8", "replace") + b"\n"
    if not options.has_timestamps:
        return text
    at = run.started_at + timedelta(seconds=line.after_seconds)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}000Z ".encode() + text
