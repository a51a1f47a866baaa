"""What a fault is: data that says what goes wrong, and the layer it puts between a process and the API server.

    process -> first fault -> second fault -> ... -> the server

A fault is a frozen dataclass, so a run's faults can be printed and given again. `drawn` makes one with chance's
numbers. Each fault of each process gets one layer, which lives as long as the cluster: it outlives the process' deaths.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Never, Self

from kubeloop.apimachinery.clock import Clock
from kubeloop.client.api import Api
from kubeloop.client.transport import Request, Response

Send = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a fault works: one process of one cluster.

    `rng` is this fault's alone. `is_active` turns false once faults are to end. `kill` ends the process as SIGKILL
    does and starts it again after that many seconds. `revisions` are those the server had in the last so many seconds.
    `other` is another client.
    """

    process: str
    clock: Clock
    rng: random.Random
    is_active: Callable[[], bool]
    kill: Callable[[float], None]
    revisions: Callable[[float], Sequence[int]]
    other: Api

    def happens(self, share: float) -> bool:
        """Whether it goes wrong this time."""
        return self.is_active() and self.rng.random() < share


class Layer:
    """What a fault does at its site. By itself it lets everything pass."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def clock(self, clock: Clock) -> Clock:
        """What the process takes for the time."""
        return clock

    def process_starts(self) -> None:
        """Before each life of the process."""
        return

    async def send(self, request: Request, pass_on: Send) -> Response:
        return await pass_on(request)

    async def die(self, restart_seconds: float) -> Never:
        """Kill the process from within its own request, which gets no answer."""
        self.site.kill(restart_seconds)
        await asyncio.Event().wait()
        raise AssertionError("a dead process goes on")


@dataclass(frozen=True)
class Fault:
    """Base of all. `may_double`: a loop may keep every rule and still do a thing twice under it, then undo one."""

    may_double: ClassVar[bool] = False

    def layer(self, site: Site) -> Layer:
        raise NotImplementedError

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        """One of this kind, as hard as `rng` says."""
        raise NotImplementedError


def is_write(request: Request) -> bool:
    """Whether it changes what anybody decides by: heartbeats and events do not."""
    path = request.target.partition("?")[0]
    return request.method != "GET" and "/leases" not in path and "/events" not in path


def is_watch(request: Request) -> bool:
    return request.is_stream and request.method == "GET" and "watch=true" in request.target
