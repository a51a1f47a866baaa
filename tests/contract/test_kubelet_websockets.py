"""The protocols of WebSockets to a kubelet, over real sockets: which one is spoken, and how messages look in it."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import Sequence
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from kubelet_sim.server.access import Access
from kubelet_sim.server.exchange import Exchange, HungUp
from kubelet_sim.server.port_forward import PortForward
from kubelet_sim.server.server import KubeletServer, Serving
from kubelet_sim.server.streams import SUBPROTOCOLS, Streams, exit_status
from kubelet_sim.server.websocket import WebSocket
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import Request
from tests.unit.kubelet_sim.played_pod import a_container, a_pod


async def echo_a_line(request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
    """A command that repeats a line of its input and ends with code 3."""
    streams = Streams(await WebSocket.accept(request, exchange, SUBPROTOCOLS), request)
    await streams.begin()
    reading = asyncio.create_task(streams.run())
    await streams.write(1, await streams.read_line())
    await streams.end(exit_status(3))
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


class Sleeper:
    """A command that never reads its input. `outcome`: how it ended."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        streams = Streams(await WebSocket.accept(request, exchange, SUBPROTOCOLS), request)
        await streams.begin()
        try:
            await streams.run()
        except (HungUp, OSError) as gone:
            self.outcome.set_result(type(gone).__name__)


class OnePod:
    """A web server, whatever it is called."""

    def asked(self, request: Request, exchange: Exchange, namespace: str, name: str) -> Object:
        pod = a_pod(a_container(ports=[{"containerPort": 80, "protocol": "TCP"}]))
        return {**pod, "status": {"phase": "Running"}}

    def again(self, pod: Object) -> Object:
        return pod


def talk(target: str, subprotocols: Sequence[str], says: Sequence[str | bytes]) -> tuple[str, list[Any]]:
    """The protocol that was chosen, and everything that the kubelet said to the end."""

    async def main() -> tuple[str, list[Any]]:
        listening = socket.create_server(("127.0.0.1", 0))
        routes = {"exec": echo_a_line, "portForward": PortForward(OnePod()).answer}
        server = asyncio.create_task(KubeletServer(Serving(listening, Access("")), routes).run())
        url = f"ws://127.0.0.1:{listening.getsockname()[1]}{target}"
        try:
            async with connect(url, subprotocols=subprotocols or None, proxy=None) as client:
                for message in says:
                    await client.send(message)
                return client.subprotocol or "", [message async for message in client]
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)

    return asyncio.run(main())


def in_base64(channel: int, data: bytes) -> str:
    return str(channel) + base64.b64encode(data).decode()


EXEC = "/exec/default/p/c?input=1&output=1&error=1"
STATUS = exit_status(3)


@pytest.mark.parametrize("subprotocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
def test_a_command_ends_with_a_status(subprotocol: str) -> None:
    """After an empty message that says that it begins."""
    chosen, (begins, out, status) = talk(EXEC, [subprotocol], [b"\0hello\n"])

    assert (subprotocol, b"\1", b"\1hello\n", b"\3") == (chosen, begins, out, status[:1])
    assert STATUS == json.loads(status[1:])


def test_a_client_that_goes_is_missed_though_nobody_reads_what_it_sent() -> None:
    """Its last words fill every buffer, so that its goodbye does not get through."""

    async def main() -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        sleeper = Sleeper()
        server = asyncio.create_task(KubeletServer(Serving(listening, Access("")), {"exec": sleeper.answer}).run())
        try:
            client = await connect(f"ws://127.0.0.1:{listening.getsockname()[1]}{EXEC}", proxy=None)
            with pytest.raises(TimeoutError):
                while True:
                    async with asyncio.timeout(1):
                        await client.send(bytes(1 << 18))
            client.transport.abort()
            return await sleeper.outcome
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)

    assert asyncio.run(main()) in ("HungUp", "ConnectionResetError", "BrokenPipeError")


def test_text_is_base64_for_who_asks_for_it() -> None:
    """A digit for the channel, in both directions; what is no base64 is passed over."""
    says = ["0?", in_base64(0, b"hello\n")]

    chosen, (begins, out, status) = talk(EXEC, ["v4.base64.channel.k8s.io"], says)

    assert ("v4.base64.channel.k8s.io", "1", in_base64(1, b"hello\n"), "3") == (chosen, begins, out, status[:1])
    assert STATUS == json.loads(base64.b64decode(status[1:]))


@pytest.mark.parametrize("subprotocols", [["channel.k8s.io"], []])
def test_before_v4_only_failures_are_told(subprotocols: list[str]) -> None:
    """As text; that is also what is spoken to a client that names no protocol."""
    chosen, messages = talk(EXEC, subprotocols, [b"\0hello\n"])

    assert "".join(subprotocols) == chosen
    assert [b"\1", b"\1hello\n", b"\3command terminated with exit code 3"] == messages


def test_the_clients_first_choice_counts() -> None:
    """Of those that are known."""
    chosen, _ = talk(EXEC, ["v9.channel.k8s.io", "v4.channel.k8s.io", "v5.channel.k8s.io"], [b"\0hello\n"])

    assert "v4.channel.k8s.io" == chosen


def test_a_client_that_knows_other_protocols_only_is_refused() -> None:
    """With 403, as upstream."""
    with pytest.raises(InvalidStatus, match="HTTP 403"):
        talk(EXEC, ["v9.channel.k8s.io"], [])


@pytest.mark.parametrize("subprotocols", [["v5.channel.k8s.io", "v4.channel.k8s.io"], []])
def test_ports_are_forwarded_in_channels(subprotocols: list[str]) -> None:
    """The port on both channels, then the page; then the connection is over."""
    _, messages = talk("/portForward/default/p?port=80", subprotocols, [b"\0GET / HTTP/1.1\r\n\r\n"])

    assert [b"\0\x50\0", b"\1\x50\0"] == messages[:2]
    assert b"pod: p\n" in messages[2] and 3 == len(messages)


@pytest.mark.parametrize("query", ["", "?port=", "?port=0", "?port=web", "?port=65536", "?port=80,"])
def test_ports_that_are_none_are_refused(query: str) -> None:
    """Before anything is upgraded."""
    with pytest.raises(InvalidStatus, match="HTTP 400"):
        talk(f"/portForward/default/p{query}", ["v4.channel.k8s.io"], [])
