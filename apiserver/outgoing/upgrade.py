"""Connections that become something else (WebSockets, SPDY): the request goes on as it came, and then bytes do.

What is spoken after the answer 101 is the business of both ends alone, as it is behind a real API server that leaves
WebSockets to the kubelet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from apiserver.outgoing.errors import CallError
from apiserver.outgoing.forwarding import Address
from apiserver.outgoing.go_words import as_go_says_it
from apiserver.outgoing.tls import tls_context
from apiserver.outgoing.trust import Trust

RawHeaders = Sequence[tuple[bytes, bytes]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

DIAL_SECONDS = 30.0
MAX_HEAD_BYTES = 64 * 1024
MAX_REFUSAL_BYTES = 50_000
_REFUSAL_SECONDS = 10.0
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The other end's answer: `head` as it came, `fields` in lower case; `body` where nothing else has come of the
    connection.
    """

    status: int
    fields: Mapping[str, str]
    head: bytes
    content_type: str
    body: bytes
    streams: Streams


@asynccontextmanager
async def upgraded(
    address: Address, trust: Trust, method: str, target: str, headers: RawHeaders
) -> AsyncIterator[Upgraded]:
    """Asks the other end for an upgrade. CallError, `error dialing backend: …`, where there is no answer."""
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            tls = None if trust.is_plain else tls_context(trust)
            reader, writer = await asyncio.open_connection(
                address.host,
                address.port,
                ssl=tls,
                server_hostname=trust.server_name if tls else None,
                limit=MAX_HEAD_BYTES,
            )
    except OSError as error:
        why = await as_go_says_it(error, address.host_port, trust.server_name)
        raise CallError(f"error dialing backend: {why}") from error
    try:
        writer.write(_request(method, target, headers))
        yield await _answer(reader, writer)
    finally:
        writer.transport.abort()


def _request(method: str, target: str, headers: RawHeaders) -> bytes:
    lines = [f"{method} {target} HTTP/1.1".encode(), *(b"%s: %s" % header for header in headers)]
    return b"\r\n".join([*lines, b"", b""])


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Upgraded:
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1])
    except (OSError, EOFError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
        raise CallError("error dialing backend: EOF") from error
    fields = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    body = b"" if status == 101 else await _body(reader, fields)
    return Upgraded(
        status, fields, head, fields.get("content-type", "text/plain; charset=utf-8"), body, (reader, writer)
    )


async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    """Of a refusal, which says why in a few words."""
    length = fields.get("content-length", "")
    size = min(int(length), MAX_REFUSAL_BYTES) if length.isdigit() else MAX_REFUSAL_BYTES
    try:
        async with asyncio.timeout(_REFUSAL_SECONDS):
            return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        return error.partial
    except OSError:
        return b""


async def joined(one: Streams, other: Streams, stopping: asyncio.Event) -> None:
    """Carry bytes both ways until one end closes, or this server stops. Slow readers hold up who writes to them."""
    ways = [asyncio.create_task(_carry(a[0], b[1])) for a, b in ((one, other), (other, one))]
    waiting = [*ways, asyncio.create_task(stopping.wait())]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await _flushed(one[1])


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one end is gone, and so the connection is over


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """What was said last is still sent."""
    try:
        writer.close()
        async with asyncio.timeout(_REFUSAL_SECONDS):
            await writer.wait_closed()
    except OSError:
        pass
