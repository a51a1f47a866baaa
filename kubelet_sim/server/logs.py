"""/containerLogs: the log of one run of a container, all of it or its end, and on as it is written.

A run is known by its status, to the second, so that the same log is told by every process that plays the node.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from kubelet_sim import log
from kubelet_sim.environment import with_node_limits
from kubelet_sim.log import Line
from kubelet_sim.server.answers import Answer, Answers
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.gathering import NOTHING_NOW, gathered
from kubelet_sim.server.log_options import Options
from kubelet_sim.server.pods import Pods, SeenRun, container_of, logged_run, the_run, wait
from kubelet_sim.server.recorded_logs import recorded
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, uid_of
from kubeloop.runtime.http_request import Request

if TYPE_CHECKING:
    from kubelet_sim.process.runtime import ProcessRuntime

# A status has whole seconds: what a run that is over wrote within its last one is in its log.
_LAST_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.001
_LINES_AT_ONCE = 100  # then others get a turn


class ContainerLogs:
    def __init__(
        self,
        pods: Pods,
        clock: Clock,
        answer: Answer,
        real: ProcessRuntime | None = None,
        allocatable: Callable[[str], Mapping[str, str]] = lambda node: {},
    ) -> None:
        """`answer`: what others say to a container. `real`: who has the logs of containers that really run.
        `allocatable`: of a node, which limits those of its containers that have no limit of their own.
        """
        self._pods, self._clock, self._answer, self._real = pods, clock, answer, real
        self._allocatable = allocatable

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        if len(path) != 3:
            raise Refused(400, '{"message": "Missing container name."}')
        namespace, name, container = path
        options = Options.of(request, self._clock.now())
        pod = self._pods.asked(request, exchange, namespace, name)
        container_of(pod, container)
        run = logged_run(pod, container, options.is_previous)
        try:
            async with asyncio.TaskGroup() as tasks:
                hang_up = tasks.create_task(exchange.until_hung_up())
                await exchange.begin_stream()
                async for data in gathered(self._either(pod, container, run, options)):
                    await exchange.write(data)
                await exchange.end_stream()
                hang_up.cancel()
        except* HungUp:
            pass

    def _either(self, pod: Object, container: str, run: SeenRun, options: Options) -> AsyncIterator[bytes]:
        """What was really written, or what is simulated."""
        if self._real is None or not self._real.runs(container_of(pod, container)):
            return self.stream(pod, container, run, options)
        return recorded(self._real.log(uid_of(pod), container, run.id), options, self._clock)

    async def stream(self, pod: Object, container: str, run: SeenRun, options: Options) -> AsyncIterator[bytes]:
        """The log in pieces, until its end, or until now where nobody follows. NOTHING_NOW before it waits."""
        left = options.limit_bytes
        async for line in self.lines(pod, container, run, options):
            data = NOTHING_NOW if line.stream == log.SILENCE else _shown(line, run, options)
            if left is not None:
                data = data[:left]
                left -= len(data)
            yield data
            if left == 0:
                return

    async def lines(self, pod: Object, container: str, run: SeenRun, options: Options) -> AsyncIterator[Line]:
        """The same line by line, whatever its size; a SILENCE where the next one may take a while."""
        limited = with_node_limits(pod, self._allocatable(pod["spec"].get("nodeName") or ""))
        spec, now = container_of(limited, container), self._clock.now()
        answers = Answers(self._answer, pod["metadata"]["namespace"], self._clock)
        until = _seconds(run, now)
        written = log.lines(limited, spec, run.started_at, max(0.0, until - log.KEPT_SECONDS))
        past, ahead = deque[Line](maxlen=options.tail_lines), None
        for count, line in enumerate(written, 1):
            if line.after_seconds >= until:
                ahead = line
                break
            if _is_wanted(line, run, options):
                past.extend(await answers.known(line))
                while options.tail_lines is None and past:
                    yield past.popleft()
            if count % _LINES_AT_ONCE == 0:
                await self._clock.sleep(0)
        for line in past:
            yield line
        if options.follows and run.finished_at is None:
            rest = chain(() if ahead is None else (ahead,), written)
            async for line in self._ahead(pod, container, run, rest):
                if line.stream == log.SILENCE or _is_wanted(line, run, options):
                    for one in await answers.known(line):
                        yield one

    async def _ahead(self, pod: Object, container: str, run: SeenRun, lines: Iterator[Line]) -> AsyncIterator[Line]:
        """Each line when its time comes, until the run is over."""
        line, count = next(lines, None), 0
        with self._pods.changes(pod) as changed:
            while True:
                current = self._pods.again(pod)
                seen = the_run(current, container, run.id) if current is not None else None
                is_over = seen is None or seen.finished_at is not None
                until = _seconds(seen or run, self._clock.now())
                while line is not None and line.after_seconds < until:
                    yield line
                    line, count = next(lines, None), count + 1
                    if count % _LINES_AT_ONCE == 0:
                        await self._clock.sleep(0)
                if is_over:
                    return
                yield Line(until, log.SILENCE, "")
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
