"""In which order events are sent, and what one that cannot be sent holds up."""

from __future__ import annotations

import asyncio
import random
from typing import cast

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.event_recorder import MAX_WAITING_EVENTS, EventRecorder
from kubeloop.testing.virtual_time import LoopClock, run

NAMES = [f"web-{i}" for i in range(20)]


class Server:
    """Takes a tenth of a second for every event; has nothing but failures for `broken`, for a while."""

    def __init__(self, clock: LoopClock, broken: str = "") -> None:
        self._clock, self._broken = clock, broken
        self.taken: list[tuple[str, str, float]] = []

    async def create(self, resource: Resource, event: Object, *, managed_fields: bool = True) -> Object:
        await self._clock.sleep(0.1)
        name = event["involvedObject"]["name"]
        if name == self._broken and self._clock.monotonic() < 5:
            raise ConnectionFailed("closed")
        self.taken.append((name, event["message"], self._clock.monotonic()))
        return event


def about(name: str) -> Object:
    return {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": {"name": name, "namespace": "default"}}


async def told(names: list[str], messages: list[str], broken: str = "") -> list[tuple[str, str, float]]:
    """Every message about every object, as the server takes them."""
    clock = LoopClock()
    server = Server(clock, broken)
    recorder = EventRecorder(cast(Api, server), "test", clock, random.Random(0))
    running = asyncio.create_task(recorder.run())
    for message in messages:
        for name in names:
            await recorder.event(about(name), "Normal", "Told", message)
    await recorder.flush()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return server.taken


def test_events_about_one_object_keep_their_order() -> None:
    """Those about others are sent beside them: twenty objects do not take twenty times as long."""
    taken = run(told(NAMES, ["one", "two", "three"]))

    assert {name: ["one", "two", "three"] for name in NAMES} == {
        name: [message for about_, message, _ in taken if about_ == name] for name in NAMES
    }
    assert max(at for _, _, at in taken) < 0.1 * 3 * len(NAMES) / 2


def test_an_event_that_fails_holds_up_few_others() -> None:
    """The next try may be ten seconds away, and most events do not wait for it."""
    taken = run(told(NAMES, ["one"], broken="web-0"))

    assert set(NAMES) == {name for name, _, _ in taken}
    assert len([name for name, _, at in taken if at < 5]) > len(NAMES) / 2


def test_idle_again_after_every_event() -> None:
    """Flushing ends however events come in, between others being sent too."""

    async def main() -> int:
        clock = LoopClock()
        server = Server(clock)
        recorder = EventRecorder(cast(Api, server), "test", clock, random.Random(0))
        running = asyncio.create_task(recorder.run())
        for i, name in enumerate(NAMES):
            await recorder.event(about(name), "Normal", "Told", "something")
            await clock.sleep(0.03 * (i % 5))
        await asyncio.wait_for(recorder.flush(), 60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return len(server.taken)

    assert len(NAMES) == run(main())


def test_a_lane_that_is_full_loses_the_oldest() -> None:
    """Nobody waits for events to be sent, so what comes too fast is dropped."""

    async def main() -> list[str]:
        clock = LoopClock()
        server = Server(clock)
        recorder = EventRecorder(cast(Api, server), "test", clock, random.Random(0))
        for i in range(MAX_WAITING_EVENTS + 1):
            await recorder.event(about("web-0"), "Normal", f"Reason{i}", f"message {i}")
        running = asyncio.create_task(recorder.run())
        await recorder.flush()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return [message for _, message, _ in server.taken]

    assert ["message 1", "message 2"] == run(main())[:2]
