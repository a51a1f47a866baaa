"""How long a key that failed waits before its next try: chosen for each controller, combined with `MaxOf`.

Semantics of client-go's util/workqueue/default_rate_limiters.go (v1.36). A key is remembered from its first failure
until it is forgotten (its reconcile succeeded), so the number of failing keys bounds each limiter's memory.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from kubeloop.apimachinery.clock import Clock

FIRST_BACKOFF_SECONDS = 0.005
MAX_BACKOFF_SECONDS = 1000.0


class RateLimiter(Protocol):
    """One controller's own: limiters count, so two controllers never share one."""

    def when(self, key: Hashable) -> float:
        """In how many seconds the key is to be tried again; counts as one more failure of it."""
        ...

    def forget(self, key: Hashable) -> None:
        """The key succeeded."""
        ...

    def failures(self, key: Hashable) -> int:
        """How often it failed since it was last forgotten."""
        ...


class ExponentialBackoff:
    """The default: 5 ms, doubled with every failure of a key, 1000 s at most."""

    def __init__(self, first_seconds: float = FIRST_BACKOFF_SECONDS, max_seconds: float = MAX_BACKOFF_SECONDS) -> None:
        self._first_seconds, self._max_seconds = first_seconds, max_seconds
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._first_seconds * 2 ** min(failures, 60), self._max_seconds)

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def failures(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class FastThenSlow:
    """The same short wait for the first tries of a key, the same long one from then on."""

    def __init__(self, fast_seconds: float, slow_seconds: float, fast_tries: int) -> None:
        self._fast_seconds, self._slow_seconds, self._fast_tries = fast_seconds, slow_seconds, fast_tries
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._fast_seconds if failures <= self._fast_tries else self._slow_seconds

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def failures(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class Bucket:
    """So many tries a second of all keys together, after a burst; each key that comes reserves the next free moment."""

    def __init__(self, clock: Clock, per_second: float = 10, burst: int = 100) -> None:
        self._clock, self._per_second, self._burst = clock, per_second, burst
        self._tokens, self._filled_at = float(burst), clock.monotonic()  # fewer than none: reserved ahead

    def when(self, key: Hashable) -> float:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._per_second) - 1
        self._filled_at = now
        return max(0.0, -self._tokens / self._per_second)

    def forget(self, key: Hashable) -> None:
        return

    def failures(self, key: Hashable) -> int:
        return 0


class MaxOf:
    """The longest wait that any of several limiters asks for: `MaxOf(ExponentialBackoff(), Bucket(clock))`."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def when(self, key: Hashable) -> float:
        return max(limiter.when(key) for limiter in self._limiters)

    def forget(self, key: Hashable) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: Hashable) -> int:
        return max(limiter.failures(key) for limiter in self._limiters)


class AtMost:
    """Another limiter's wait, but never more than `max_seconds`."""

    def __init__(self, max_seconds: float, limiter: RateLimiter) -> None:
        self._max_seconds, self._limiter = max_seconds, limiter

    def when(self, key: Hashable) -> float:
        return min(self._limiter.when(key), self._max_seconds)

    def forget(self, key: Hashable) -> None:
        self._limiter.forget(key)

    def failures(self, key: Hashable) -> int:
        return self._limiter.failures(key)
