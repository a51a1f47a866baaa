"""The kubelets' API over real sockets: who may come in, and what becomes of everybody else."""

from __future__ import annotations

import asyncio
import socket

import pytest

from kubelet_sim.server.access import Access
from kubelet_sim.server.exchange import Exchange
from kubelet_sim.server.server import KubeletServer, Serving
from kubeloop.runtime.http_request import Request

TOKEN = "of-the-api-server"


async def _hello(request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
    await exchange.answer(200, f"hello {'/'.join(path)}")


def asked(head: str, token: str = TOKEN, body: bytes = b"") -> str:
    """The answer to a request, as it comes off the socket once the body is sent."""

    async def main() -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        server = KubeletServer(Serving(listening, Access(token)), {"hello": _hello})
        running = asyncio.create_task(server.run())
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        await writer.drain()
        answer = await reader.read()
        writer.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return answer.decode()

    return asyncio.run(main())


AUTHORIZED = f"Authorization: Bearer {TOKEN}"


def test_the_api_server_is_answered() -> None:
    """It shows the token; the rest of the path is the handler's."""
    answer = asked(f"GET /hello/a%20b/c HTTP/1.1\nHost: 127.0.0.1:1\n{AUTHORIZED}")

    assert answer.startswith("HTTP/1.1 200 OK\r\n") and answer.endswith("\r\n\r\nhello a b/c")


def test_a_refusal_reaches_who_sends_a_body_that_nobody_reads() -> None:
    """A connection that is closed over unread bytes would take it along."""
    body = bytes(8 << 20)

    answer = asked(f"POST /other HTTP/1.1\nHost: 127.0.0.1\nContent-Length: {len(body)}\n{AUTHORIZED}", body=body)

    assert answer.startswith("HTTP/1.1 404 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /hello HTTP/1.1\nHost: 127.0.0.1", 401),
        ("GET /hello HTTP/1.1\nHost: 127.0.0.1\nAuthorization: Bearer other", 401),
        (f"GET /hello HTTP/1.1\nHost: rebound.example\n{AUTHORIZED}", 403),
        (f"GET /hello HTTP/1.1\nHost: 127.0.0.1\nOrigin: http://page.example\n{AUTHORIZED}", 403),
        (f"GET /other HTTP/1.1\nHost: 127.0.0.1\n{AUTHORIZED}", 404),
    ],
)
def test_nobody_else_is(head: str, status: int) -> None:
    """Neither without the token, nor a web page, whatever it knows."""
    assert asked(head).startswith(f"HTTP/1.1 {status} ")


def test_a_stack_without_a_token_still_keeps_web_pages_out() -> None:
    """Whoever can connect is let in, as by the API server on plain HTTP."""
    assert asked("GET /hello HTTP/1.1\nHost: localhost", token="").startswith("HTTP/1.1 200 ")
    assert asked("GET /hello HTTP/1.1\nHost: page.example", token="").startswith("HTTP/1.1 403 ")
