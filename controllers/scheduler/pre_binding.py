"""Pods whose PreBind plugins are at work: until they are done, the binding can be called off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from controllers.scheduler.status import Status, failed


class PreBinding:
    """One entry a pod that is being bound, so the scheduler's bindings under way bound it."""

    def __init__(self) -> None:
        self._limits: dict[str, asyncio.Timeout] = {}
        self._reasons: dict[str, str] = {}  # of those that were called off

    async def run(self, uid: str, work: Awaitable[Status | None], at_work: Callable[[], str]) -> Status | None:
        """The outcome of the work; an error with the reason, and who was at it, where it was called off meanwhile."""
        interrupted = ""
        try:
            async with asyncio.timeout(None) as limit:
                self._limits[uid] = limit
                status = await work
        except TimeoutError:
            if uid not in self._reasons:
                raise
            status, interrupted = None, at_work()
        finally:
            del self._limits[uid]
            reason = self._reasons.pop(uid, "")
        return failed(interrupted + reason) if reason else status

    def call_off(self, uid: str, reason: str) -> bool:
        """Whether there was something to call off."""
        limit = self._limits.get(uid)
        if limit is None:
            return False
        if uid not in self._reasons:
            self._reasons[uid] = reason
            limit.reschedule(0.0)  # long past
        return True
