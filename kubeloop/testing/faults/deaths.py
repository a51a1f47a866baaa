"""The process dies at a write: just before it, or when it is committed and nobody has heard of it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Self

from kubeloop.client.transport import Request, Response
from kubeloop.testing.faults.fault import Fault, Layer, Send, Site, is_write

_SHARES = (1.0, 0.5, 0.2)


@dataclass(frozen=True)
class _Kill(Fault):
    """`share` of the writes are deadly (1: each), up to `limit` deaths; the next life begins after `down_seconds`.

    The limit lets a process get on whose first write of each life is always the same.
    """

    share: float = 1.0
    limit: int = 25
    down_seconds: float = 0.5

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice(_SHARES), rng.choice((5, 10, 25)), rng.choice((0.1, 1.0, 5.0)))


@dataclass(frozen=True)
class KillBeforeWrite(_Kill):
    """The write never leaves."""

    def layer(self, site: Site) -> Layer:
        return _Deadly(site, self, is_sent=False)


@dataclass(frozen=True)
class KillAfterWrite(_Kill):
    """The server has committed the write; the answer reaches nobody."""

    def layer(self, site: Site) -> Layer:
        return _Deadly(site, self, is_sent=True)


class _Deadly(Layer):
    def __init__(self, site: Site, fault: _Kill, is_sent: bool) -> None:
        super().__init__(site)
        self._fault, self._is_sent, self._deaths = fault, is_sent, 0

    async def send(self, request: Request, pass_on: Send) -> Response:
        is_due = is_write(request) and self._deaths < self._fault.limit and self.site.happens(self._fault.share)
        if not is_due:
            return await pass_on(request)
        if self._is_sent:
            response = await pass_on(request)
            if response.status >= 400:
                return response  # nothing was written
            await response.aclose()
        self._deaths += 1
        return await self.die(self._fault.down_seconds)
