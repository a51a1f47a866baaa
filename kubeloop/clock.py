"""The real clock: what every process gives its components. Tests give them the virtual one of kubeloop.testing."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """Clock over the machine's own time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    # The builtin itself: a write looks at it some twenty times.
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
