"""The process' clock is wrong. Such a fault does not end with the others: a wrong clock does not heal by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from kubeloop.apimachinery.clock import Clock
from kubeloop.testing.faults.fault import Fault, Layer, Site


@dataclass(frozen=True)
class SkewClock(Fault):
    """The wall clock is `seconds` ahead of the server's (negative: behind). Durations are right."""

    seconds: float = 300.0

    def layer(self, site: Site) -> Layer:
        return _Wrong(site, self.seconds, rate=1.0)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((-1.0, 1.0)) * rng.choice((0.7, 30.0, 600.0)))


@dataclass(frozen=True)
class DriftClock(Fault):
    """The clock runs at `rate` times the right speed, and so do the timers of the process."""

    rate: float = 1.1

    def layer(self, site: Site) -> Layer:
        return _Wrong(site, 0.0, self.rate)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.9, 0.99, 1.01, 1.1)))


class _Wrong(Layer):
    def __init__(self, site: Site, offset_seconds: float, rate: float) -> None:
        super().__init__(site)
        self._offset_seconds, self._rate = offset_seconds, rate

    def clock(self, clock: Clock) -> Clock:
        return WrongClock(clock, self._offset_seconds, self._rate)


class WrongClock:
    """A Clock beside the right one."""

    def __init__(self, right: Clock, offset_seconds: float = 0.0, rate: float = 1.0) -> None:
        self._right, self._offset_seconds, self._rate = right, offset_seconds, rate

    def now(self) -> datetime:
        gained = self._right.monotonic() * (self._rate - 1)
        return self._right.now() + timedelta(seconds=self._offset_seconds + gained)

    def monotonic(self) -> float:
        return self._right.monotonic() * self._rate

    async def sleep(self, seconds: float) -> None:
        await self._right.sleep(seconds / self._rate)
