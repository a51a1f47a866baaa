"""The waits that rate limiters give, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kubeloop.apimachinery.clock import Clock
from kubeloop.runtime.rate_limiter import AtMost, Bucket, ExponentialBackoff, FastThenSlow, MaxOf, RateLimiter
from kubeloop.testing.virtual_time import LoopClock, run

MakeLimiter = Callable[[Clock], RateLimiter]


def waits(make: MakeLimiter, keys: str, pause_seconds: float = 0) -> list[float]:
    """What each failure of a key (one letter each) is told, with so much time between two of them."""

    async def main() -> list[float]:
        clock = LoopClock()
        limiter = make(clock)
        found = []
        for key in keys:
            found.append(round(limiter.when(key), 6))
            await asyncio.sleep(pause_seconds)
        return found

    return run(main())


@pytest.mark.parametrize(
    ("make", "keys", "expected"),
    [
        (lambda clock: ExponentialBackoff(0.001, 1), "aaaaab", [0.001, 0.002, 0.004, 0.008, 0.016, 0.001]),
        (lambda clock: ExponentialBackoff(1, 3), "aaaa", [1, 2, 3, 3]),
        (lambda clock: FastThenSlow(0.005, 10, 3), "aaaab", [0.005, 0.005, 0.005, 10, 0.005]),
        (lambda clock: Bucket(clock, per_second=10, burst=2), "abcde", [0, 0, 0.1, 0.2, 0.3]),
        (lambda clock: MaxOf(ExponentialBackoff(0.25, 9), Bucket(clock, 1, 1)), "aaaa", [0.25, 1, 2, 3]),
        (lambda clock: AtMost(3, ExponentialBackoff(1, 100)), "aaaa", [1, 2, 3, 3]),
    ],
    ids=["doubled", "capped", "fast then slow", "bucket", "the longest", "at most"],
)
def test_waits_grow_as_the_limiter_says(make: MakeLimiter, keys: str, expected: list[float]) -> None:
    """Each failure of a key is told its wait; another key starts anew, but for the bucket, which all share."""
    assert expected == waits(make, keys)


def test_a_bucket_fills_again() -> None:
    """Tokens come back with time, never more than the burst."""
    assert [0, 0, 0] == waits(lambda clock: Bucket(clock, per_second=10, burst=1), "abc", pause_seconds=0.1)
    assert [0, 0.05, 0.1] == waits(lambda clock: Bucket(clock, per_second=10, burst=1), "abc", pause_seconds=0.05)


def test_a_key_that_fails_for_ever_stays_at_the_longest_wait() -> None:
    """Doubling a thousand times neither overflows nor goes beyond 1000 s."""
    assert 1000 == waits(lambda clock: ExponentialBackoff(), "a" * 2000)[-1]


@pytest.mark.parametrize(
    "limiter",
    [
        ExponentialBackoff(1, 100),
        FastThenSlow(1, 100, 1),
        MaxOf(ExponentialBackoff(1, 100)),
        AtMost(9, FastThenSlow(1, 9, 1)),
    ],
    ids=lambda limiter: type(limiter).__name__,
)
def test_what_is_forgotten_starts_anew(limiter: RateLimiter) -> None:
    """A success takes all failures of that key back, and of no other."""
    for key in "aab":
        limiter.when(key)
    failures = limiter.failures("a")

    limiter.forget("a")

    assert (2, 0, 1) == (failures, limiter.failures("a"), limiter.failures("b"))
    assert 1 == limiter.when("a")
