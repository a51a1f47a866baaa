"""Connections to servers of somebody else, over real sockets."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from apiserver.outgoing.connections import MAX_IDLE_CONNECTIONS, Connections
from apiserver.outgoing.trust import Trust

_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _begin_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with a head and no end, as a watch of nothing does."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        await reader.read()
    finally:
        writer.close()


def test_answers_that_go_on_hold_up_no_other_call() -> None:
    """However many watches are passed on to one server, the next request to it is answered."""

    async def main() -> list[int]:
        server = await asyncio.start_server(_begin_only, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        connections = Connections()
        async with AsyncExitStack() as calls:
            calls.push_async_callback(connections.close)
            async with asyncio.timeout(60):
                answers = [
                    await calls.enter_async_context(
                        connections.answered("GET", f"http://{address}/", address, Trust("x").over(True), [])
                    )
                    for _ in range(MAX_IDLE_CONNECTIONS + 1)
                ]
            statuses = [answer.status_code for answer in answers]
        server.close()
        return statuses

    assert [200] * (MAX_IDLE_CONNECTIONS + 1) == asyncio.run(main())
