"""Time as a constructor argument.

Components never read a clock of their own: they are given a Clock. In a process it is `SystemClock`
(kubeloop.clock); in the in-process cluster it is the virtual clock of kubeloop.testing, on which ten minutes
pass in a millisecond. Durations are seconds (float), instants are timezone-aware UTC datetimes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where a component gets the time from."""

    def now(self) -> datetime:
        """The wall clock, UTC: what goes into objects."""
        ...

    def monotonic(self) -> float:
        """Seconds that only move forward: what durations are measured with."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""
        ...
