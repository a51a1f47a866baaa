"""Serves the kubelets' API for all nodes of the process, on loopback: one request a connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from kubelet_sim.server.access import Access
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubeloop.runtime.http_request import MAX_HEAD_BYTES, Request, read_request

log = structlog.get_logger(__name__)

# The first word of the path -> who answers; the rest of the path is what he is given.
Answer = Callable[[Request, tuple[str, ...], Exchange], Awaitable[None]]
Routes = Mapping[str, Answer]

MAX_CONNECTIONS = 1000  # at once; one more is told to come back later
_OTHERS_DATA = 64 * 1024


@dataclass(frozen=True, slots=True)
class Serving:
    """A socket that listens, and who may come in there. Plain HTTP without `tls`."""

    listening: socket.socket
    access: Access = field(default_factory=Access)
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port


class KubeletServer:
    def __init__(self, serving: Serving, routes: Routes) -> None:
        self._serving, self._routes = serving, routes
        self._connections = 0

    async def run(self) -> None:
        """Until cancelled; then every connection ends, too."""
        async with asyncio.TaskGroup() as tasks:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                tasks.create_task(self._serve(reader, writer), name="kubelet connection")

            limit = max(MAX_HEAD_BYTES, _OTHERS_DATA)
            at = self._serving
            server = await asyncio.start_server(accept, sock=at.listening, ssl=at.tls, limit=limit)
            async with server:
                await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = Exchange(reader, writer)
        self._connections += 1
        try:
            await self._answer_or_refuse(exchange)
            await _quietly(exchange.body.drop())
        finally:
            self._connections -= 1
            writer.close()

    async def _answer_or_refuse(self, exchange: Exchange) -> None:
        try:
            await self._answer(exchange)
        except Refused as refused:
            if not exchange.has_begun:
                await _quietly(exchange.refuse(refused))
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, HungUp):
            pass  # whoever asked is gone, or never meant HTTP
        except Exception:
            log.exception("a request to a kubelet failed")
            if not exchange.has_begun:
                await _quietly(exchange.answer(500, "the kubelet could not carry out the request"))

    async def _answer(self, exchange: Exchange) -> None:
        request = await read_request(exchange.reader)
        exchange.body.expect(request.headers)
        self._serving.access.check(request)
        if self._connections > MAX_CONNECTIONS:
            raise Refused(503, "too many connections")
        first, *rest = request.path.strip("/").split("/")
        answer = self._routes.get(first)
        if answer is None:
            raise Refused(404, "404 page not found")
        await answer(request, tuple(rest), exchange)


async def _quietly(last: Awaitable[None]) -> None:
    """What is done at the end for one who may be gone. (TimeoutError is an OSError.)"""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        await last
