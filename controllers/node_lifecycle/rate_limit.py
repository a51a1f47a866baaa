"""One thing every so many seconds: a token bucket of size one, whose rate may change."""

from __future__ import annotations

import math


class RateLimit:
    """Moments are seconds of a monotonic clock. Rate 0: never."""

    def __init__(self, rate: float) -> None:
        self._rate, self._free_at = rate, -math.inf

    def take(self, now: float) -> bool:
        """Whether the thing may be done now; if so, the next one only after 1/rate seconds."""
        if self.free_at > now:
            return False
        self._free_at = now + 1 / self._rate
        return True

    @property
    def free_at(self) -> float:
        return self._free_at if self._rate else math.inf

    def change(self, rate: float, now: float) -> None:
        """Who could take nothing before cannot at once afterwards either."""
        if rate == self._rate:
            return
        could_take = self.free_at <= now
        self._rate = rate
        self._free_at = now if could_take or not rate else now + 1 / rate
