"""Pods that Permit plugins hold back between the decision and the binding."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from controllers.scheduler.status import Status, unschedulable


class WaitingPods:
    """One entry a pod that waits, so the pods of the cluster bound it."""

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Future[Status | None]] = {}
        self._pending: dict[str, set[str]] = {}  # uid: plugins that have not allowed it yet

    def uids(self) -> list[str]:
        return list(self._answers)

    def hold(self, uid: str, waits: Mapping[str, float]) -> None:
        self._answers[uid] = asyncio.get_running_loop().create_future()
        self._pending[uid] = set(waits)

    async def wait(self, uid: str, waits: Mapping[str, float]) -> Status | None:
        """None when every plugin has allowed it; a refusal by one of them, or by time."""
        try:
            async with asyncio.timeout(min(waits.values())):
                return await self._answers[uid]
        except TimeoutError:
            plugin = min(waits, key=lambda name: waits[name])
            return unschedulable(f"rejected due to timeout after waiting {waits[plugin]:g}s at plugin {plugin}").of(
                plugin
            )
        finally:
            del self._answers[uid], self._pending[uid]

    def allow(self, uid: str, plugin: str) -> None:
        pending = self._pending.get(uid)
        if pending is None:
            return
        pending.discard(plugin)
        if not pending and not self._answers[uid].done():
            self._answers[uid].set_result(None)

    def reject(self, uid: str, reason: str, plugin: str) -> bool:
        """Whether it was waiting."""
        answer = self._answers.get(uid)
        if answer is None or answer.done():
            return False
        answer.set_result(unschedulable(reason).of(plugin))
        return True
