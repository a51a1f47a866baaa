"""Our own HTTP/1.1 connections, against a scripted server on a loopback socket."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeloop.client import connections
from kubeloop.client.connections import Connections
from kubeloop.client.transport import ConnectionFailed, Request

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
GET = Request("GET", "/x", {"Accept": "application/json"}, b"")
POST = Request("POST", "/x", {"Content-Type": "application/json"}, b"{}")
WATCH = GET._replace(is_stream=True)
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Script:
    """Answers the requests of each connection with the given byte strings; None closes the connection instead."""

    def __init__(self, *connections: list[bytes | None]) -> None:
        self._scripts = list(connections)
        self.accepted = 0
        self.requests: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = self._scripts[self.accepted]
        self.accepted += 1
        try:
            for answer in script:
                head = await reader.readuntil(b"\r\n\r\n")
                body = b"{}" if b"Content-Length: 2" in head else b""
                self.requests.append(head + await reader.readexactly(len(body)))
                if answer is None:
                    break
                writer.write(answer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def with_server(serve: Serve, use: Callable[[Connections], Awaitable[None]]) -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            pool = Connections(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/prefix")
            try:
                async with asyncio.timeout(60):
                    await use(pool)
            finally:
                await pool.aclose()

    asyncio.run(main())


async def fetch(pool: Connections, request: Request = GET) -> bytes:
    response = await pool.send(request)
    try:
        return await response.read()
    finally:
        await response.aclose()


def test_a_connection_is_used_again() -> None:
    """Requests after one another share one connection, and carry the prefix, host and length they should."""
    script = Script([OK, OK])

    async def use(pool: Connections) -> None:
        await fetch(pool)
        await fetch(pool, POST)

    with_server(script, use)

    assert 1 == script.accepted
    assert script.requests[0].startswith(b"GET /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert script.requests[1].endswith(b"Content-Length: 2\r\n\r\n{}")


def test_a_second_burst_uses_the_connections_of_the_first() -> None:
    """However many requests were under way at once, those that follow connect nobody anew."""
    at_once = connections.MAX_REQUESTS_UNDER_WAY
    script = Script(*([OK, OK] for _ in range(at_once)))

    async def use(pool: Connections) -> None:
        for _ in range(2):
            await asyncio.gather(*(fetch(pool) for _ in range(at_once)))

    with_server(script, use)

    assert at_once == script.accepted


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"{}"),
    ],
)
def test_every_framing_is_understood(answer: bytes, body: bytes) -> None:
    """Chunks, a body up to the connection's end, no body, and an interim response."""
    bodies = []

    async def use(pool: Connections) -> None:
        bodies.append(await fetch(pool))

    with_server(Script([answer]), use)

    assert [body] == bodies


@pytest.mark.parametrize(
    "answer", [None, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", b"SSH-2.0-OpenSSH\r\n\r\n"]
)
def test_half_an_answer_is_a_failure(answer: bytes | None) -> None:
    """No answer, a body cut short and something that is no HTTP all raise ConnectionFailed."""

    async def use(pool: Connections) -> None:
        with pytest.raises(ConnectionFailed):
            await fetch(pool)

    with_server(Script([answer]), use)


def test_a_get_survives_the_servers_closing() -> None:
    """A kept connection that the server closes just then costs a GET nothing; a write is not sent twice."""
    script = Script([OK, None], [OK, None])

    async def use(pool: Connections) -> None:
        await fetch(pool)
        assert b"{}" == await fetch(pool)
        with pytest.raises(ConnectionFailed):
            await fetch(pool, POST)

    with_server(script, use)

    assert 2 == script.accepted


def test_a_response_that_was_left_early_costs_its_connection() -> None:
    """Closing a response before its end closes the connection: its rest must not answer the next request."""
    script = Script([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"], [OK])

    async def use(pool: Connections) -> None:
        response = await pool.send(GET)
        await response.aclose()
        assert b"{}" == await fetch(pool)

    with_server(script, use)

    assert 2 == script.accepted


def test_an_answer_nobody_asked_for_is_never_used() -> None:
    """A second response on one request spoils the connection; the next request gets its own answer."""
    script = Script([OK + OK.replace(b"{}", b"[]")], [OK])

    async def use(pool: Connections) -> None:
        assert b"{}" == await fetch(pool)
        assert b"{}" == await fetch(pool)

    with_server(script, use)

    assert 2 == script.accepted


def test_requests_are_bounded_and_watches_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all slots taken a request waits for one to be given back; a watch neither takes a slot nor waits for one."""
    monkeypatch.setattr(connections, "MAX_REQUESTS_UNDER_WAY", 1)

    async def use(pool: Connections) -> None:
        watch, first = await pool.send(WATCH), await pool.send(GET)
        second = asyncio.create_task(pool.send(GET))
        another_watch = await pool.send(WATCH)
        assert not second.done()
        await first.aclose()
        for response in (watch, another_watch, await second):
            await response.aclose()

    with_server(Script([OK], [OK], [OK], [OK]), use)


def test_a_refused_connection_says_so() -> None:
    """Nobody listening is a ConnectionFailed that names the request."""

    async def main() -> None:
        with pytest.raises(ConnectionFailed, match=r"GET /x: .*(refused|Connect call failed)"):
            await Connections("http://127.0.0.1:9").send(GET)

    asyncio.run(main())


def test_a_header_cannot_smuggle_a_request() -> None:
    """Line ends in what becomes the head of a request are refused."""

    async def use(pool: Connections) -> None:
        with pytest.raises(ValueError, match="line ends"):
            await pool.send(GET._replace(headers={"Authorization": "a\r\nX: b"}))

    with_server(Script(), use)


def test_warnings_are_handed_on() -> None:
    """Each Warning header of an answer once, and none of them with the connection's next answer."""
    script = Script([OK.replace(b"\r\n\r\n", b'\r\nWarning: 299 - "a"\r\nwarning: 299 - "b"\r\n\r\n'), OK])
    heard: list[str] = []

    async def use(pool: Connections) -> None:
        for _ in range(2):
            await fetch(pool, GET._replace(on_warning=heard.append))

    with_server(script, use)

    assert ['299 - "a"', '299 - "b"'] == heard
