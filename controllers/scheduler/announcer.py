"""Events of the events.k8s.io API: what the scheduler tells people about pods (FailedScheduling, Scheduled, Preempted).

Unlike the core recorder these name an action, the other object involved, and a series instead of a count: the same
event about the same state of an object again is counted in its `series`, written when it begins and when it has ended.
Follows client-go's tools/events (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from datetime import UTC, datetime, timedelta

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.times import format_micro_time
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.event_recorder import reference_to

log = structlog.get_logger(__name__)

EVENTS_V1 = Resource("events.k8s.io", "v1", "events", "Event")
MAX_WAITING = 1000
SENDERS = 8
MAX_TRIES = 12
RETRY_SECONDS = 10.0
SERIES_SECONDS = 360.0  # without a repetition, a series has ended
MAX_NOTE_LENGTH = 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Announcer:
    """Telling never waits: a bounded queue is drained by a few senders. Full: the new event is dropped, and logged."""

    def __init__(self, api: Api, clock: Clock, host: str = "") -> None:
        self._api, self._clock, self._host = api, clock, host
        self._waiting: asyncio.Queue[Object] = asyncio.Queue(MAX_WAITING)
        # By what makes two events the same. Those older than SERIES_SECONDS are swept out, so what is told within six
        # minutes bounds it.
        self._known: dict[Hashable, Object] = {}
        self._last_suffix = 0

    def tell(
        self,
        controller: str,
        about: ReadOnlyObject,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        related: ReadOnlyObject | None = None,
    ) -> None:
        """`controller` is the name of the profile that says it."""
        event = self._new_event(controller, about, event_type, reason, action, note, related)
        key = (controller, event_type, reason, action, *sorted(event["regarding"].items()))
        known = self._known.get(key)
        if known is None:
            self._known[key] = event
            self._send_later(event)
            return
        series = known.get("series")
        known["series"] = {"count": series["count"] + 1 if series else 2, "lastObservedTime": event["eventTime"]}
        if series is None:
            self._send_later(known)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(SENDERS):
                group.create_task(self._send_waiting(), name=f"event sender {number}")
            while True:
                await self._clock.sleep(SERIES_SECONDS)
                self._finish_series()

    async def flush(self) -> None:
        """Until everything told so far is sent or given up."""
        await self._waiting.join()

    async def _send_waiting(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._send(event)
            finally:
                self._waiting.task_done()

    async def _send(self, event: Object) -> None:
        """A server that cannot be reached is waited for; one that refuses has said its last word."""
        for _ in range(MAX_TRIES):
            try:
                await self._write(event)
                return
            except ConnectionFailed:
                await self._clock.sleep(RETRY_SECONDS)
            except ApiError as error:
                log.debug("event refused", reason=event["reason"], error=error.message)
                return
        log.warning("event dropped", why="unreachable", reason=event["reason"], about=event["regarding"].get("name"))

    async def _write(self, event: Object) -> None:
        metadata = event["metadata"]
        if "series" in event:
            try:
                patch = {"series": dict(event["series"])}
                name, namespace = metadata["name"], metadata["namespace"]
                await self._api.patch(EVENTS_V1, name, patch, namespace, patch_type=STRATEGIC)
                return
            except NotFound:
                pass  # it has expired: begin anew
        await self._api.create(EVENTS_V1, event)

    def _finish_series(self) -> None:
        """Write the last count of those that have ended, and forget what cannot be repeated any more."""
        horizon = format_micro_time(self._clock.now() - timedelta(seconds=SERIES_SECONDS))
        for key, event in list(self._known.items()):
            series = event.get("series")
            if (series["lastObservedTime"] if series else event["eventTime"]) < horizon:
                del self._known[key]
                if series and series["count"] > 2:
                    self._send_later(event)

    def _send_later(self, event: Object) -> None:
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            log.warning("event dropped", why="queue_full", reason=event["reason"], about=event["regarding"].get("name"))

    def _new_event(
        self,
        controller: str,
        about: ReadOnlyObject,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        related: ReadOnlyObject | None,
    ) -> Object:
        now = self._clock.now()
        regarding = reference_to(about)
        namespace = regarding.get("namespace") or "default"
        event: Object = {
            "apiVersion": EVENTS_V1.api_version,
            "kind": EVENTS_V1.kind,
            "metadata": {"name": f"{regarding['name']}.{self._suffix(now):x}", "namespace": namespace},
            "eventTime": format_micro_time(now),
            "reportingController": controller,
            "reportingInstance": f"{controller}-{self._host or 'kubeloop'}",
            "action": action,
            "reason": reason,
            "regarding": regarding,
            "note": note if len(note) <= MAX_NOTE_LENGTH else note[: MAX_NOTE_LENGTH - 4] + " ...",
            "type": event_type,
        }
        if related is not None:
            event["related"] = reference_to(related)
        return event

    def _suffix(self, now: datetime) -> int:
        """Nanoseconds, never twice the same."""
        self._last_suffix = max(self._last_suffix + 1, int((now - _EPOCH).total_seconds() * 1e6) * 1000)
        return self._last_suffix
