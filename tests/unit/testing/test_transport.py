"""An ASGI app behind an httpx transport, in one loop."""

import asyncio
from typing import Any

import httpx
import pytest

from kubeloop.testing.transport import MAX_WAITING_CHUNKS, InProcessTransport
from kubeloop.testing.virtual_time import run

JSON = [(b"content-type", b"application/json")]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it got."""
    message = await receive()
    text = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} ".encode() + message["body"]
    await send({"type": "http.response.start", "status": 201, "headers": JSON})
    await send({"type": "http.response.body", "body": text})


class EndlessApp:
    """Sends a chunk a second until its client goes away."""

    def __init__(self, every_seconds: float = 1) -> None:
        self.sent = 0
        self.saw_disconnect = False
        self._every_seconds = every_seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        gone = asyncio.ensure_future(receive())
        try:
            while not gone.done():
                await send({"type": "http.response.body", "body": b"tick\n", "more_body": True})
                self.sent += 1
                await asyncio.sleep(self._every_seconds)
        finally:
            self.saw_disconnect = gone.done()
            gone.cancel()


def test_a_request_goes_there_and_back() -> None:
    """Method, path, query and body reach the app; status, headers and body come back."""

    async def main() -> httpx.Response:
        async with httpx.AsyncClient(transport=InProcessTransport(echo)) as client:
            return await client.post("http://x/a%20b?c=d", content=b"body")

    response = run(main())

    assert 201 == response.status_code
    assert "POST /a b c=d body" == response.text


def test_a_body_streams_while_it_grows() -> None:
    """Chunks arrive as they are sent: an endless body is read as far as one likes, and closing tells the app."""
    app = EndlessApp()

    async def main() -> tuple[list[bytes], float]:
        async with httpx.AsyncClient(transport=InProcessTransport(app)) as client:
            chunks = []
            async with client.stream("GET", "http://x/") as response:
                async for chunk in response.aiter_raw():
                    chunks.append(chunk)
                    if len(chunks) == 3:
                        break
            return chunks, asyncio.get_running_loop().time()

    chunks, seconds = run(main())

    assert [b"tick\n"] * 3 == chunks
    assert 2 == seconds
    assert app.saw_disconnect


def test_a_slow_reader_holds_up_the_app() -> None:
    """Unread chunks are bounded: the app waits in `send`."""
    app = EndlessApp(every_seconds=0)

    async def main() -> int:
        client = httpx.AsyncClient(transport=InProcessTransport(app))
        async with client, client.stream("GET", "http://x/"):
            await asyncio.sleep(60)
            return app.sent

    assert MAX_WAITING_CHUNKS == run(main())


def test_a_cut_breaks_off_a_stream() -> None:
    """Cutting the connections raises in whoever reads, and the app is told."""
    app = EndlessApp()
    transport = InProcessTransport(app)

    async def main() -> None:
        async with httpx.AsyncClient(transport=transport) as client:
            asyncio.get_running_loop().call_later(5, transport.cut)
            async with client.stream("GET", "http://x/") as response:
                async for _ in response.aiter_raw():
                    pass

    with pytest.raises(httpx.ReadError):
        run(main())

    assert app.saw_disconnect


def test_a_server_that_is_down_refuses() -> None:
    """While refusing, new requests fail to connect; afterwards they pass again."""
    transport = InProcessTransport(echo)

    async def main() -> int:
        async with httpx.AsyncClient(transport=transport) as client:
            transport.refuse(True)
            with pytest.raises(httpx.ConnectError):
                await client.get("http://x/")
            transport.refuse(False)
            return (await client.get("http://x/")).status_code

    assert 201 == run(main())


def test_an_app_that_fails_is_a_broken_connection() -> None:
    """What the app raises before its answer reaches the client as a protocol error, not as its own exception."""

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("boom")

    async def main() -> None:
        async with httpx.AsyncClient(transport=InProcessTransport(broken)) as client:
            await client.get("http://x/")

    with pytest.raises(httpx.RemoteProtocolError, match="boom"):
        run(main())
