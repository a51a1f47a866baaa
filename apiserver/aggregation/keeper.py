"""Watches over one aggregated API server: is it there, what does it serve. Runs as long as its APIService is there.

Each turn looks at everything as it stands and writes the condition where it changed. The next turn comes when the
Service or its endpoints change, after a failure soon and then less and less often, and every half minute anyhow: that
the server behind the Service went away is told by nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
import structlog

from apiserver.aggregation import availability, documents
from apiserver.aggregation.aggregated import Aggregated
from apiserver.aggregation.availability import Verdict
from apiserver.aggregation.calls import Calls
from apiserver.aggregation.remote import Remote
from apiserver.outgoing.errors import CallError
from apiserver.outgoing.services import ENDPOINT_SLICES, SERVICES, ServiceError
from apiserver.registry.context import Machinery
from apiserver.storage.interface import Compacted
from apiserver.watch.broadcast import TooSlow, Watcher

log = structlog.get_logger("apiserver")

CHECK_SECONDS = 30.0
FIRST_RETRY_SECONDS = 0.1

# Writes the condition of an APIService.
Report = Callable[[str, Verdict], Coroutine[Any, Any, None]]


class Keeper:
    def __init__(
        self, remote: Remote, aggregated: Aggregated, calls: Calls, machinery: Machinery, report: Report
    ) -> None:
        self._remote, self._aggregated, self._calls = remote, aggregated, calls
        self._machinery, self._report = machinery, report
        self._retry_seconds = FIRST_RETRY_SECONDS

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._follow()
            except (TooSlow, Compacted):
                # A server that stops ends every new watch at once: without a pause nothing else would get a turn.
                await self._machinery.clock.sleep(FIRST_RETRY_SECONDS)
            except Exception:
                # Whatever somebody else's server makes of us, this one goes on.
                log.exception("an aggregated API cannot be looked after", apiservice=self._remote.name)
                await self._machinery.clock.sleep(CHECK_SECONDS)

    async def _follow(self) -> None:
        cache, remote = self._machinery.cache, self._remote
        with (
            cache.watch(SERVICES, remote.namespace, remote.service) as service,
            cache.watch(ENDPOINT_SLICES, remote.namespace) as slices,
        ):
            while True:
                pause = await self._look()
                await self._wait(pause, service, slices)

    async def _look(self) -> float:
        """One turn; how long the next one can wait."""
        verdict = await availability.check(self._remote, self._machinery.reader, self._calls)
        await self._report(self._remote.name, verdict)
        is_known = verdict.is_good and await self._learn()
        if is_known:
            self._retry_seconds = FIRST_RETRY_SECONDS
            return CHECK_SECONDS
        self._aggregated.lost(self._remote.name)
        pause = self._retry_seconds
        self._retry_seconds = min(pause * 2, CHECK_SECONDS)
        return pause

    async def _learn(self) -> bool:
        """What it serves; False where it did not say."""
        name = self._remote.name
        try:
            document = await documents.fetch(self._calls, self._remote, self._aggregated.document(name))
            self._aggregated.learned(name, document, await self._openapi())
        except (CallError, ServiceError) as error:
            log.warning("discovery of an aggregated API failed", apiservice=name, error=str(error))
            return False
        return True

    async def _openapi(self) -> Mapping[str, str]:
        """Where its OpenAPI v3 documents are; a server may have none."""
        answer = await self._calls.get(self._remote, "/openapi/v3", "application/json")
        if answer.status != 200:
            return {}
        try:
            paths = orjson.loads(answer.body)["paths"]
            return {path: str(where["serverRelativeURL"]) for path, where in paths.items()}
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return {}

    async def _wait(self, seconds: float, *watchers: Watcher) -> None:
        """Until one of them has something to tell, or so long. Raises TooSlow and Compacted of a watcher."""
        waits = [asyncio.ensure_future(watcher.next_batch()) for watcher in watchers]
        timer = asyncio.ensure_future(self._machinery.clock.sleep(seconds))
        try:
            await asyncio.wait([*waits, timer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waits, timer):
                task.cancel()
        for wait in waits:
            if wait.done() and not wait.cancelled() and (error := wait.exception()) is not None:
                raise error
