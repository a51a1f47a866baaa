"""Connections whose client begins something and never ends it are closed; all others set no timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from apiserver.connections import BODY_SECONDS, HEADER_SECONDS, ClientConnection


class Timer:
    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self.is_set = seconds, call, True

    def cancel(self) -> None:
        self.is_set = False


class Task:
    """One that never ends."""

    def add_done_callback(self, call: Any) -> None: ...


class Loop:
    """Keeps the timers; runs nothing."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, call))
        return self.timers[-1]

    def create_task(self, work: Any, **more: Any) -> Task:
        work.close()
        return Task()

    @property
    def running(self) -> list[float]:
        return [timer.seconds for timer in self.timers if timer.is_set]


class Transport:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def get_extra_info(self, name: str) -> None:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.is_closed


class Client:
    """A connection to a server that never answers."""

    def __init__(self) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None: ...

        config = uvicorn.Config(app, http=ClientConnection, ws="none", lifespan="off", log_config=None)
        config.load()
        self.loop, self.transport = Loop(), Transport()
        self.connection = ClientConnection(config, ServerState(), {}, self.loop)  # type: ignore[arg-type]
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    def says(self, text: str) -> None:
        self.connection.data_received(text.encode())


HEAD = "POST /api HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], HEADER_SECONDS),
        (["POST /ap"], HEADER_SECONDS),
        (["POST /ap", "i HTTP/1.1\r\n"], HEADER_SECONDS),
        ([HEAD], BODY_SECONDS),
        ([HEAD, "ab"], BODY_SECONDS),
        ([HEAD + "abcd", "GE"], HEADER_SECONDS),
    ],
)
def test_what_is_begun_has_to_end(said: list[str], expected: float) -> None:
    """The headers, and then the body, each in its time, counted from the beginning: a drip does not prolong it."""
    client = Client()
    for text in said:
        client.says(text)

    assert [expected] == client.loop.running
    client.loop.timers[-1].call()
    assert client.transport.is_closed


def test_a_request_in_one_piece_sets_no_timer() -> None:
    """Only the one that was set when the connection was made goes."""
    client = Client()
    client.says(HEAD + "abcd")
    client.says(HEAD + "abcd")

    assert [] == client.loop.running
    assert 1 == len(client.loop.timers)


def test_a_connection_that_is_lost_leaves_no_timer() -> None:
    """Nothing is left to close."""
    client = Client()
    client.says(HEAD)
    client.connection.connection_lost(None)

    assert [] == client.loop.running


def test_a_body_that_somebody_else_takes_may_take_its_time() -> None:
    """What is uploaded through a proxy is as slow as whoever takes it; the next request on it is hurried again."""
    client = Client()
    client.says(HEAD)
    client.connection.scope["kubeloop.unhurried"]()  # type: ignore[typeddict-item]
    client.says("ab")

    assert [] == client.loop.running
    client.says("cdPOST /api")
    assert [HEADER_SECONDS] == client.loop.running
