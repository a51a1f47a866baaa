"""How long a Job waits before it replaces a failed pod: 10 s, doubled with each further failure, 10 min at most. Pure.

The record of one Job's failures since its last success lives in memory only: a loop that starts anew begins at 10 s,
as upstream's does (pkg/controller/job/backoff_utils.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from controllers.job.finish_times import finished_at
from kubeloop.apimachinery.meta import ReadOnlyObject

FIRST_SECONDS = 10.0
MAX_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures since the last success, and when the latest was."""

    count: int = 0
    latest: datetime | None = None

    def after(self, succeeded: Sequence[ReadOnlyObject], failed: Sequence[ReadOnlyObject]) -> Failures:
        """The record once these pods are counted too: a success forgives every failure before it."""
        ends = [finished_at(pod) for pod in failed]
        if not succeeded:
            return Failures(self.count + len(ends), max(ends)) if ends else self
        last_success = max(finished_at(pod) for pod in succeeded)
        later = [end for end in ends if end > last_success]
        return Failures(len(later), max(later, default=None))

    def seconds_left(self, now: datetime) -> float:
        """How long to wait yet; 0 where a pod may be made."""
        if self.latest is None:
            return 0.0
        wait = min(FIRST_SECONDS * 2 ** min(self.count - 1, 10), MAX_SECONDS)
        return max(0.0, wait - (now - self.latest).total_seconds())
