"""/containerLogs: which run is meant, which of its lines, and until when."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from kubelet_sim.server.exchange import Refused
from kubelet_sim.server.gathering import gathered
from kubelet_sim.server.logs import ContainerLogs, Options
from kubelet_sim.server.pods import Pods, logged_run
from kubelet_sim.shell.effects import Ask
from kubelet_sim.shell.network import Page
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time
from kubeloop.client.store import Delta
from kubeloop.runtime.http_request import Request
from kubeloop.testing.virtual_time import EPOCH, LoopClock, run
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

COUNTS = ["sh", "-c", "i=0; while true; do i=$((i+1)); echo $i; sleep 10; done"]


class OnePod:
    """An informer that knows one pod."""

    def __init__(self, pod: Object) -> None:
        self.pod: Object | None = pod

    def get(self, key: object) -> Object | None:
        return self.pod

    def add_handler(self, handler: Any) -> None:
        self._handler = handler

    def change(self, pod: Object | None) -> None:
        before, self.pod = self.pod, pod
        self._handler(Delta(before, pod))


async def nobody(ask: Ask, namespace: str) -> None:
    """Answers."""


def with_status(**status: Any) -> Object:
    pod = a_pod(a_container(command=COUNTS))
    pod["status"]["containerStatuses"] = [{"name": "c", **status}]
    return pod


def running(run_id: str = "one", **status: Any) -> Object:
    state = {"running": {"startedAt": format_time(EPOCH)}}
    return with_status(state=state, containerID=run_id, **status)


def ended(after: int, run_id: str = "one") -> Object:
    finished_at = format_time(datetime.fromtimestamp(EPOCH.timestamp() + after, UTC))
    return {"containerID": run_id, "startedAt": format_time(EPOCH), "finishedAt": finished_at, "exitCode": 1}


def a_request(**query: str) -> Request:
    return Request("GET", "", {name: [text] for name, text in query.items()}, {}, b"")


def the_log(pod: Object, at: float, **query: str) -> str:
    async def main() -> str:
        clock = LoopClock()
        await clock.sleep(at)
        informer = OnePod(pod)
        logs = ContainerLogs(Pods(informer, informer.get, lambda node: True), clock, nobody)  # type: ignore[arg-type]
        return await read(logs, pod, clock, **query)

    return run(main())


async def read(logs: ContainerLogs, pod: Object, clock: LoopClock, **query: str) -> str:
    options = Options.of(a_request(**query), clock.now())
    seen = logged_run(pod, "c", options.is_previous)
    return b"".join([data async for data in logs.stream(pod, "c", seen, options)]).decode()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "1\n2\n3\n4\n"),
        ({"tailLines": "2"}, "3\n4\n"),
        ({"tailLines": "0"}, ""),
        ({"sinceSeconds": "12"}, "4\n"),
        ({"sinceTime": "2026-01-01T00:00:15Z"}, "3\n4\n"),
        ({"limitBytes": "3"}, "1\n2"),
        ({"stream": "Stderr"}, ""),
        ({"tailLines": "1", "timestamps": "true"}, "2026-01-01T00:00:30.009000000Z 4\n"),
    ],
)
def test_the_part_of_a_log_that_is_asked_for(query: dict[str, str], expected: str) -> None:
    """After 35 s a container that counts every 10 s has come to 4."""
    assert expected == the_log(running(), 35, **query)


def test_a_log_is_the_same_whenever_it_is_read() -> None:
    """What was written once stays as it is, times included, and later lines follow it."""
    early, late = (the_log(running(), at, timestamps="true") for at in (25, 65))

    assert late.startswith(early) and late != early


def test_a_run_that_is_over_keeps_its_log() -> None:
    """Of the last run and of the one before it, until its end and not further."""
    crashed = with_status(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState={"terminated": ended(15)})
    again = running("two", lastState={"terminated": ended(25)})

    assert "1\n2\n" == the_log(crashed, 100)
    assert "1\n2\n3\n" == the_log(again, 31, previous="true")


def test_a_log_is_followed_until_its_run_is_over() -> None:
    """Each line comes at its time; the end of the container ends the log, whatever runs next."""

    async def main() -> tuple[str, float]:
        clock, pod = LoopClock(), running()
        informer = OnePod(pod)
        logs = ContainerLogs(Pods(informer, informer.get, lambda node: True), clock, nobody)  # type: ignore[arg-type]
        following = asyncio.create_task(read(logs, pod, clock, follow="true"))
        await clock.sleep(25)
        informer.change(running("two", lastState={"terminated": ended(25)}))
        return await following, clock.monotonic()

    text, seconds = run(main())

    assert ("1\n2\n3\n", 25) == (text, round(seconds))


def test_who_is_behind_a_log_leaves_turns_to_others() -> None:
    """A log of millions of lines is no reason to keep the node's process from its heartbeats."""

    async def main() -> int:
        clock, pod, turns = LoopClock(), running(), 0
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", "while true; do seq 1000; sleep 1; done"]
        informer = OnePod(pod)
        logs = ContainerLogs(Pods(informer, informer.get, lambda node: True), clock, nobody)  # type: ignore[arg-type]
        options = Options.of(a_request(follow="true", tailLines="0"), clock.now())

        async def others() -> None:
            nonlocal turns
            while True:
                await clock.sleep(0)
                turns += 1

        lines = logs.lines(pod, "c", logged_run(pod, "c", False), options)
        async for line in lines:
            if line.text == "1000":
                break
        await clock.sleep(100)
        while not (await anext(lines)).text:
            pass
        other = asyncio.create_task(others())
        for _ in range(50_000):
            await anext(lines)
        other.cancel()
        return turns

    assert run(main()) >= 50


def test_what_others_answer_is_asked_when_the_log_is_read() -> None:
    """Once for all that is read at once, by the names of the pod's namespace; nothing where nobody answers."""

    async def main() -> tuple[str, list[Ask]]:
        clock, pod, asked = LoopClock(), running(), list[Ask]()
        script = "while true; do wget -qO- http://web/x; wget -qO- http://gone; sleep 10; done"
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", script]
        informer = OnePod(pod)

        async def answer(ask: Ask, namespace: str) -> Page | None:
            asked.append(ask)
            return Page(f"said to {namespace}\ntwice\n") if ask.name.startswith("web") else None

        logs = ContainerLogs(Pods(informer, informer.get, lambda node: True), clock, answer)  # type: ignore[arg-type]
        await clock.sleep(25)
        return await read(logs, pod, clock, tailLines="3"), asked

    text, asked = run(main())

    assert "twice\nsaid to default\ntwice\n" == text
    assert [Ask("page", "web/x", 80), Ask("page", "gone", 80)] == asked


def test_what_has_been_written_is_not_held_back() -> None:
    """A pause in a log is known, so that chunks end there."""

    async def main() -> list[bytes]:
        clock, pod = LoopClock(), running()
        informer = OnePod(pod)
        logs = ContainerLogs(Pods(informer, informer.get, lambda node: True), clock, nobody)  # type: ignore[arg-type]
        options, seen = Options.of(a_request(follow="true"), clock.now()), logged_run(pod, "c", False)
        found = list[bytes]()

        async def follow() -> None:
            found.extend([data async for data in gathered(logs.stream(pod, "c", seen, options))])

        following = asyncio.create_task(follow())
        await clock.sleep(25)
        informer.change(running("two", lastState={"terminated": ended(25)}))
        await following
        return found

    assert [b"1\n", b"2\n", b"3\n"] == run(main())


@pytest.mark.parametrize(
    ("status", "query", "why"),
    [
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, {}, "is waiting to start: ContainerCreating"),
        ({"state": {"waiting": {"reason": "ErrImagePull"}}}, {}, "is waiting to start: image can't be pulled"),
        ({"state": {"terminated": {"exitCode": 137}}}, {}, "is terminated"),
        ({"state": {"running": {}}, "containerID": "x"}, {"previous": "true"}, "not found"),
    ],
)
def test_where_there_is_no_log_it_is_told_why(status: Object, query: dict[str, str], why: str) -> None:
    """In the words of a kubelet."""
    with pytest.raises(Refused, match=f'container "c" in pod "p" {why}'):
        the_log(with_status(**status), 1, **query)
