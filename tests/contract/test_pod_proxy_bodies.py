"""What a program that really runs in a pod hears of a body that is sent through `/podProxy`, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kubelet_sim.server.access import Access
from kubelet_sim.server.exchange import Exchange
from kubelet_sim.server.pod_proxy import PodProxy
from kubelet_sim.server.server import KubeletServer, Serving
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import Request
from tests.unit.kubelet_sim.played_pod import a_container, a_pod


class OnePod:
    def __init__(self, port: int) -> None:
        self._port = port

    def asked(self, request: Request, exchange: Exchange, namespace: str, name: str) -> Object:
        pod = a_pod(a_container(ports=[{"containerPort": self._port, "protocol": "TCP"}]))
        return {**pod, "status": {"phase": "Running"}}


class Real:
    def runs(self, container: Object) -> bool:
        return True


def heard_of(head: str, body: bytes) -> tuple[bytes, bytes]:
    """The body as the program hears it, and what the client is answered."""

    async def main() -> tuple[bytes, bytes]:
        heard = bytearray()

        async def program(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            while len(heard) < len(body):
                heard.extend(await reader.read(1 << 16))
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndone")
            writer.close()

        async with await asyncio.start_server(program, "127.0.0.1", 0) as backend:
            port = backend.sockets[0].getsockname()[1]
            real: Any = Real()
            listening = socket.create_server(("127.0.0.1", 0))
            routes = {"podProxy": PodProxy(OnePod(port), real).answer}  # type: ignore[arg-type]
            server = asyncio.create_task(KubeletServer(Serving(listening, Access("")), routes).run())
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
                writer.write(f"POST /podProxy/default/p/{port}/upload HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
                answer = await reader.read()
                writer.close()
            finally:
                server.cancel()
                await asyncio.gather(server, return_exceptions=True)
        return bytes(heard), answer

    return asyncio.run(main())


BIG = b"x" * 300_000


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"Content-Length: {len(BIG)}", BIG),
        ("Transfer-Encoding: chunked", b"%x\r\n%s\r\n5;note=1\r\nworld\r\n0\r\n\r\n" % (len(BIG), BIG)),
        ("Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"),
    ],
)
def test_it_is_passed_on_to_its_end(head: str, body: bytes) -> None:
    """Whether its length is told, or it comes in chunks, which stay as they are."""
    heard, answer = heard_of(head, body)

    assert body == heard
    assert answer.endswith(b"\r\n\r\ndone")
