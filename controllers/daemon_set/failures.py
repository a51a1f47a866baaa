"""Failed daemon pods are replaced at growing intervals: a node that rejects its pod would be asked without end.

One second after the first, doubled each time, 15 minutes at most; half an hour without a failure begins anew.
failedPodsBackoff of pkg/controller/daemon, v1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kubeloop.apimachinery.clock import Clock

_FIRST_SECONDS, _MAX_SECONDS = 1.0, 15 * 60.0
_FORGOTTEN_AFTER_SECONDS = 2 * _MAX_SECONDS


class Place(NamedTuple):
    """Where pods fail: another version of the spec begins anew."""

    owner_uid: str
    observed_generation: int
    node: str


@dataclass(slots=True)
class _Delay:
    seconds: float
    since: float


class Failures:
    """Places are forgotten half an hour after their last failure: those that fail now bound their number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._delays: dict[Place, _Delay] = {}  # the longest untouched first

    def seconds_to_wait(self, place: Place) -> float:
        """0 where the pod may be replaced now."""
        delay = self._delays.get(place)
        return 0.0 if delay is None else max(delay.since + delay.seconds - self._clock.monotonic(), 0.0)

    def replaced(self, place: Place) -> None:
        """The next one has to wait longer."""
        now = self._clock.monotonic()
        self._forget_old(now)
        last = self._delays.pop(place, None)
        seconds = _FIRST_SECONDS if last is None else min(2 * last.seconds, _MAX_SECONDS)
        self._delays[place] = _Delay(seconds, now)

    def _forget_old(self, now: float) -> None:
        for place, delay in list(self._delays.items()):
            if now - delay.since <= _FORGOTTEN_AFTER_SECONDS:
                return
            del self._delays[place]
