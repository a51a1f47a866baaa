"""The sockets to one API server: a bounded pool of keep-alive connections.

Proxies of the environment are never used: an API server is named by a kubeconfig, and most are on loopback.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from kubeloop.client.connection import Connection
from kubeloop.client.transport import ConnectionFailed, Request, Response

# Full: a request waits for one under way to end. Watches are not counted (each informer has one), or a process with
# many informers would lock itself out.
MAX_REQUESTS_UNDER_WAY = 64
# What the headers of requests were made into; full: all are made anew. They differ by verb and token.
_MAX_REMEMBERED_HEADERS = 64
# Full: a connection is closed instead of kept. As many as requests: bursts must not connect anew for each of them.
MAX_IDLE_CONNECTIONS = MAX_REQUESTS_UNDER_WAY
# Shorter than uvicorn's and other servers' 5 s: a request must not meet the server's own closing.
IDLE_SECONDS = 4.0
CONNECT_SECONDS = 10.0
# A peer that vanished without a word (suspended, unplugged) is noticed by the kernel after about a minute.
_KEEPALIVE_OPTIONS = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class Connections:
    """A Transport. Safe for any number of tasks of one event loop."""

    def __init__(self, base_url: str, tls: ssl.SSLContext | None = None, server_name: str = "") -> None:
        url = urlsplit(base_url)
        is_tls = url.scheme == "https"
        self._host = url.hostname or "127.0.0.1"
        self._port = url.port or (443 if is_tls else 80)
        self._prefix = url.path.rstrip("/")
        self._host_header = url.netloc.rpartition("@")[2]
        self._tls = (tls or ssl.create_default_context()) if is_tls else None
        self._server_name = server_name or self._host
        self._idle: deque[Connection] = deque()  # the newest last, and used first
        self._busy: dict[Connection, None] = {}
        self._encoded_headers: dict[tuple[tuple[str, str], ...], str] = {}
        self._slots = asyncio.Semaphore(MAX_REQUESTS_UNDER_WAY)

    async def send(self, request: Request) -> Response:
        if not request.is_stream:
            await self._slots.acquire()
        try:
            connection = await self._exchange(request)
        except BaseException:
            if not request.is_stream:
                self._slots.release()
            raise
        if request.on_warning:
            for warning in connection.warnings:
                request.on_warning(warning)
        return _PooledResponse(self, connection, holds_slot=not request.is_stream)

    async def aclose(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()
        self._busy.clear()
        await asyncio.sleep(0)  # lets the loop close the sockets

    def give_back(self, connection: Connection, holds_slot: bool) -> None:
        if holds_slot:
            self._slots.release()
        self._busy.pop(connection, None)
        if connection.is_reusable and len(self._idle) < MAX_IDLE_CONNECTIONS:
            connection.idle_since = _now()
            self._idle.append(connection)
        else:
            connection.close()

    async def _exchange(self, request: Request) -> Connection:
        """Send, and wait for the head. A kept connection that the server closed meanwhile is no failure of a GET."""
        message = self._encode(request)
        kept = self._take_idle()
        connection = kept or await self._connect(request)
        while True:
            self._busy[connection] = None
            try:
                await connection.exchange(message)
                return connection
            except BaseException as error:
                del self._busy[connection]
                connection.close()
                is_stale = isinstance(error, ConnectionFailed) and connection is kept and not kept.has_head
                if not is_stale or request.method != "GET":
                    raise
            connection = await self._connect(request)

    def _take_idle(self) -> Connection | None:
        oldest_useful = _now() - IDLE_SECONDS
        while self._idle and self._idle[0].idle_since < oldest_useful:
            self._idle.popleft().close()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self, request: Request) -> Connection:
        server_name = self._server_name if self._tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                transport, connection = await asyncio.get_running_loop().create_connection(
                    Connection, self._host, self._port, ssl=self._tls, server_hostname=server_name
                )
        except TimeoutError:
            raise ConnectionFailed(f"{request.method} {request.target}: connecting timed out") from None
        except OSError as error:  # ssl.SSLError is one
            raise ConnectionFailed(f"{request.method} {request.target}: {error}") from error
        _keep_alive(transport.get_extra_info("socket"))
        return connection

    def _encode(self, request: Request) -> bytes:
        target, length = request.target, ""
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"spaces, line ends or non-ASCII characters in a request: {request.method} {target!r}")
        if request.body or request.method != "GET":
            length = f"Content-Length: {len(request.body)}\r\n"
        key = tuple(request.headers.items())
        headers = self._encoded_headers.get(key) or self._encode_headers(key)
        head = f"{request.method} {self._prefix}{target} HTTP/1.1\r\n{headers}{length}\r\n"
        return head.encode() + request.body

    def _encode_headers(self, headers: tuple[tuple[str, str], ...]) -> str:
        lines = [f"{name}: {value}" for name, value in (("Host", self._host_header), *headers)]
        for line in lines:
            if not line.isascii() or "\n" in line or "\r" in line:
                raise ValueError(f"line ends or non-ASCII characters in a header: {line.partition(':')[0]!r}")
        if len(self._encoded_headers) >= _MAX_REMEMBERED_HEADERS:
            self._encoded_headers.clear()
        encoded = self._encoded_headers[headers] = "".join(f"{line}\r\n" for line in lines)
        return encoded


class _PooledResponse:
    """Gives its connection back when closed: for reuse if it was read to the end."""

    __slots__ = ("_connection", "_holds_slot", "_is_closed", "_pool", "content_type", "status")

    def __init__(self, pool: Connections, connection: Connection, holds_slot: bool) -> None:
        self._pool, self._connection, self._holds_slot = pool, connection, holds_slot
        self._is_closed = False
        self.status, self.content_type = connection.status, connection.content_type

    async def read(self) -> bytes:
        return await self._connection.read()

    def chunks(self) -> AsyncIterator[bytes]:
        return self._connection.chunks()

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._pool.give_back(self._connection, self._holds_slot)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE_OPTIONS:
        if hasattr(socket, name):  # not on every system
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
