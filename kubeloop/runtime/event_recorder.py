"""Events that people read: `await recorder.event(pod, "Normal", "Scheduled", "…")`.

Telling never blocks and never fails a reconcile: events go into bounded lanes, each of which one task drains. Repeats
are aggregated by the correlator. Made by `manager.event_recorder`, which also runs it.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from zlib import crc32

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound, ServiceUnavailable, Timeout, TooManyRequests
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, metadata
from kubeloop.apimachinery.resource import EVENTS
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.runtime.event_correlator import Correlated, EventCorrelator, new_event

if TYPE_CHECKING:
    from kubeloop.runtime.metrics import RuntimeMetrics

log = structlog.get_logger(__name__)

# Events about one object keep their order; those about others need not wait for them, nor for a try that failed.
LANES = 8
MAX_WAITING_EVENTS = 250  # in each lane
_MAX_TRIES = 12
_RETRY_SECONDS = 10.0
_TRIED_AGAIN = (TooManyRequests.code, ServiceUnavailable.code, Timeout.code)  # ConnectionFailed is a 503


class _Lane:
    """Events that are sent one after the other, by a task that lives as long as there are any."""

    def __init__(self) -> None:
        self._waiting: deque[Object] = deque()  # at most MAX_WAITING_EVENTS; full: the oldest is dropped and counted
        self.is_draining = False

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self.is_draining

    def add(self, event: Object) -> Object | None:
        """The event that had to make room, if any."""
        self._waiting.append(event)
        return self._waiting.popleft() if len(self._waiting) > MAX_WAITING_EVENTS else None

    async def drain(self, send: Callable[[Object], Awaitable[None]]) -> None:
        """`is_draining` says that this runs; set by whoever starts it, so that nobody starts it twice."""
        while self._waiting:
            await send(self._waiting.popleft())
        self.is_draining = False


class EventRecorder:
    def __init__(
        self,
        api: Api,
        component: str,
        clock: Clock,
        rng: random.Random,
        host: str = "",
        metrics: RuntimeMetrics | None = None,
    ) -> None:
        self._api, self._component, self._host = api, component, host
        self._clock, self._rng, self._metrics = clock, rng, metrics
        self._lanes: dict[int, _Lane] = {}  # at most LANES
        self._tasks: asyncio.TaskGroup | None = None  # while it runs
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._correlator = EventCorrelator()
        self._last_suffix = 0

    async def event(
        self,
        obj: ReadOnlyObject,
        event_type: str,
        reason: str,
        message: str,
        field_path: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Tell something about `obj`, which has kind and apiVersion. Returns at once. `annotations`: the Event's."""
        now = self._clock.now()
        about = reference_to(obj, field_path)
        event = new_event(about, self._component, self._host, event_type, reason, message, now, self._suffix(now))
        if annotations:
            event["metadata"]["annotations"] = dict(annotations)
        lane = self._lane_of(about)
        dropped = lane.add(event)
        if dropped is not None:
            self._dropped(dropped, "queue_full")
        self._is_idle.clear()
        self._attend(lane)

    async def run(self) -> None:
        """Send what waits, until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            try:
                for lane in self._lanes.values():
                    self._attend(lane)
                await asyncio.Event().wait()
            finally:
                self._tasks = None

    async def flush(self) -> None:
        """Wait until everything told so far is sent or given up: for a graceful stop, and for tests."""
        await self._is_idle.wait()

    def _attend(self, lane: _Lane) -> None:
        """A task for what waits, where there is none and there may be one."""
        if self._tasks is not None and not lane.is_idle and not lane.is_draining:
            lane.is_draining = True
            self._tasks.create_task(self._drain(lane), name=f"{self._component}: events")

    async def _drain(self, lane: _Lane) -> None:
        await lane.drain(self._send)
        if all(each.is_idle for each in self._lanes.values()):
            self._is_idle.set()

    def _lane_of(self, about: ReadOnlyObject) -> _Lane:
        named = f"{about.get('kind')} {about.get('namespace')} {about.get('name')}"
        number = crc32(named.encode()) % LANES
        lane = self._lanes.get(number)
        if lane is None:
            lane = self._lanes[number] = _Lane()
        return lane

    async def _send(self, event: Object) -> None:
        correlated = self._correlator.correlate(event, self._clock.now())
        if correlated is None:
            self._dropped(event, "spam")
            return
        for attempt in range(_MAX_TRIES):
            try:
                self._correlator.written(correlated, await self._write(correlated))
                return
            except ApiError as error:
                if error.code not in _TRIED_AGAIN:
                    # The namespace is terminating, or the event is malformed: another try would say the same.
                    log.debug("event refused", error=error.message, reason=event["reason"])
                    self._dropped(event, "refused")
                    return
                await self._clock.sleep(_RETRY_SECONDS * (self._rng.random() if attempt == 0 else 1))
        self._dropped(event, "unreachable")

    async def _write(self, correlated: Correlated) -> Object:
        metadata = correlated.event["metadata"]
        if correlated.patch is not None:
            try:
                return await self._api.patch(
                    EVENTS, metadata["name"], correlated.patch, metadata["namespace"], patch_type=STRATEGIC
                )
            except NotFound:
                pass  # its hour of life is over: begin a new one
        return await self._api.create(EVENTS, correlated.event, managed_fields=False)

    def _suffix(self, now: datetime) -> int:
        """Nanoseconds, as client-go names events, but never twice the same.

        The clock gives microseconds; chance gives the rest, so that recorders that speak at the same moment differ.
        """
        nanoseconds = int(now.timestamp() * 1e6) * 1000 + self._rng.randrange(1000)
        self._last_suffix = max(self._last_suffix + 1, nanoseconds)
        return self._last_suffix

    def _dropped(self, event: Object, why: str) -> None:
        if why in ("queue_full", "unreachable"):
            log.warning("event dropped", why=why, reason=event["reason"], about=event["involvedObject"]["name"])
        if self._metrics:
            self._metrics.dropped_events.labels(self._component, why).inc()


def reference_to(obj: ReadOnlyObject, field_path: str = "") -> Object:
    """A core/v1 ObjectReference."""
    meta = metadata(obj)
    reference: Object = {}
    for name, value in (
        ("kind", obj.get("kind")),
        ("namespace", meta.get("namespace")),
        ("name", meta.get("name")),
        ("uid", meta.get("uid")),
        ("apiVersion", obj.get("apiVersion")),
        ("resourceVersion", meta.get("resourceVersion")),
        ("fieldPath", field_path),
    ):
        if value:
            reference[name] = value
    return reference
