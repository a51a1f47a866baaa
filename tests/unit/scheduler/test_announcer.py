"""Events of the scheduler: names, references, series."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from controllers.scheduler.announcer import MAX_WAITING, Announcer
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.transport import ConnectionFailed
from kubeloop.testing.builders import a_pod
from kubeloop.testing.virtual_time import LoopClock, run


class Sink:
    """`failures`: raised by the next writes, in order."""

    def __init__(self, *failures: ApiError) -> None:
        self.failures = list(failures)
        self.created: list[Object] = []
        self.patches: list[Object] = []

    async def create(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        if self.failures:
            raise self.failures.pop(0)
        self.created.append(obj)
        return obj

    async def patch(self, resource: Resource, name: str, patch: Object, namespace: str = "", **how: Any) -> Object:
        self.patches.append(patch)
        return patch


def announced(test: Callable[[Announcer, LoopClock], Coroutine[Any, Any, None]], *failures: ApiError) -> Sink:
    async def main() -> Sink:
        sink, clock = Sink(*failures), LoopClock()
        announcer = Announcer(sink, clock, "host")  # type: ignore[arg-type]
        running = asyncio.create_task(announcer.run())
        await test(announcer, clock)
        await announcer.flush()
        running.cancel()
        await asyncio.wait([running])
        return sink

    return run(main())


def tell(announcer: Announcer, note: str = "no", version: str = "1") -> None:
    pod = a_pod("p")
    pod["metadata"] |= {"uid": "u", "resourceVersion": version}
    announcer.tell("default-scheduler", pod, "Warning", "FailedScheduling", "Scheduling", note)


def test_what_an_event_says() -> None:
    """Who reports, about what, and how it is named."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        tell(announcer)

    (event,) = announced(test).created

    assert event["metadata"]["name"].startswith("p.")
    assert "default-scheduler-host" == event["reportingInstance"]
    about = {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u", "apiVersion": "v1", "resourceVersion": "1"}
    assert about == event["regarding"]


def test_repetitions_become_a_series() -> None:
    """The second one begins a series, the rest are counted silently; the last count is written when it has ended."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        for _ in range(5):
            tell(announcer)
            await clock.sleep(1)
        await clock.sleep(800)

    sink = announced(test)

    assert 1 == len(sink.created)
    assert [2, 5] == [patch["series"]["count"] for patch in sink.patches]


def test_another_state_is_another_event() -> None:
    """An event about a changed object is no repetition."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        tell(announcer, version="1")
        tell(announcer, version="2")

    assert 2 == len(announced(test).created)


def test_long_notes_are_cut() -> None:
    """The API takes 1024 characters."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        tell(announcer, "x" * 2000)

    (event,) = announced(test).created

    assert 1024 == len(event["note"])
    assert event["note"].endswith("x ...")


def test_a_full_queue_drops_the_new_one() -> None:
    """Telling never waits and never grows without bound."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        for number in range(MAX_WAITING + 10):
            tell(announcer, version=str(number))

    assert MAX_WAITING == len(announced(test).created)


def test_an_unreachable_server_is_waited_for() -> None:
    """An event is sent when the server is back; one that the server refuses is not sent again."""

    async def test(announcer: Announcer, clock: LoopClock) -> None:
        tell(announcer)

    assert 1 == len(announced(test, ConnectionFailed("down"), ConnectionFailed("down")).created)
    assert 0 == len(announced(test, NotFound("no such namespace")).created)
