"""An in-process transport: calls an ASGI app in the same event loop and streams what it answers.

It is an httpx transport (httpx's own ASGITransport returns a response once its body has ended, which a watch's never
does) and one of kubeloop.client's own kind, which an Api uses to save itself httpx's overhead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx

from kubeloop.client.transport import ConnectionFailed, Request, Response

Message = MutableMapping[str, Any]
App = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

Headers = list[tuple[bytes, bytes]]

# Full: the app's `send` waits, as it would for a socket whose reader is slow.
MAX_WAITING_CHUNKS = 16


class InProcessTransport(httpx.AsyncBaseTransport):
    """Each request is one task, ended when its response is closed; `aclose` ends all of them.

    `cut` drops every connection as a network would; `refuse` makes new requests fail as a server that is down does.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._exchanges: dict[_Exchange, None] = {}  # ordered, so that cutting them has a fixed order
        self._is_refusing = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        body = await request.aread()
        exchange = await self._exchange(
            request.method, request.extensions.get("target", request.url.raw_path), headers, body
        )
        status, answer_headers = exchange.head
        return httpx.Response(status, headers=answer_headers, stream=exchange, request=request)

    async def send(self, request: Request) -> Response:
        headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
        headers.append((b"host", b"localhost"))
        if request.body:
            headers.append((b"content-length", str(len(request.body)).encode()))
        try:
            exchange = await self._exchange(request.method, request.target.encode(), headers, request.body)
        except httpx.TransportError as error:
            raise ConnectionFailed(f"{request.method} {request.target}: {error}") from error
        if request.on_warning:
            for name, value in exchange.head[1]:
                if name == b"warning":
                    request.on_warning(value.decode())
        return _Answer(exchange)

    async def _exchange(self, method: str, target: bytes, headers: Headers, body: bytes) -> _Exchange:
        """Ask the app; returns once the head of its answer is there."""
        if self._is_refusing:
            raise httpx.ConnectError("connection refused")
        exchange = _Exchange(body, self._exchanges)
        exchange.start(self._app, _scope(method, target, headers))
        await exchange.wait_for_head()
        return exchange

    def cut(self) -> None:
        for exchange in list(self._exchanges):
            exchange.cut()

    def refuse(self, is_refusing: bool) -> None:
        self._is_refusing = is_refusing

    async def aclose(self) -> None:
        for exchange in list(self._exchanges):
            await exchange.aclose()


class _Exchange(httpx.AsyncByteStream):
    """One request on its way through the app, and the stream of its response body."""

    def __init__(self, body: bytes, registry: dict[_Exchange, None]) -> None:
        self._body = body
        self._registry = registry
        self._is_body_sent = False
        self._disconnected = asyncio.Event()
        self._head: asyncio.Future[tuple[int, Headers]] = asyncio.get_running_loop().create_future()
        self._chunks: asyncio.Queue[bytes | httpx.ReadError | None] = asyncio.Queue(MAX_WAITING_CHUNKS)  # None: the end
        self._was_cut = False
        self._task: asyncio.Task[None] | None = None

    def start(self, app: App, scope: MutableMapping[str, Any]) -> None:
        self._registry[self] = None
        self._task = asyncio.get_running_loop().create_task(
            self._call(app, scope), name=f"{scope['method']} {scope['path']}"
        )

    @property
    def head(self) -> tuple[int, Headers]:
        return self._head.result()

    async def wait_for_head(self) -> None:
        try:
            await self._head
        except BaseException:
            await self.aclose()
            raise

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._was_cut:
            chunk = await self._chunks.get()
            if isinstance(chunk, httpx.ReadError):
                raise chunk
            if chunk is None:
                return
            yield chunk
        raise httpx.ReadError("connection cut")

    async def aclose(self) -> None:
        """The client goes away: the app is told, then its task is ended."""
        self._registry.pop(self, None)
        self._disconnected.set()
        task = self._task
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.wait([task])

    def cut(self) -> None:
        self._registry.pop(self, None)
        self._was_cut = True
        self._disconnected.set()
        if not self._head.done():
            self._head.set_exception(httpx.ReadError("connection cut"))
        while not self._chunks.empty():
            self._chunks.get_nowait()
        self._chunks.put_nowait(httpx.ReadError("connection cut"))

    async def _call(self, app: App, scope: MutableMapping[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            # A server's connection breaks off here, and its log has the error.
            if not self._head.done():
                self._head.set_exception(httpx.RemoteProtocolError(f"app failed: {error!r}"))
            await self._put(httpx.ReadError(f"app failed: {error!r}"))
        else:
            if not self._head.done():
                self._head.set_exception(httpx.RemoteProtocolError("app ended without a response"))
            await self._put(None)
        finally:
            self._registry.pop(self, None)

    async def _receive(self) -> Message:
        if not self._is_body_sent:
            self._is_body_sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not self._head.done():
                self._head.set_result((message["status"], list(message.get("headers", []))))
        elif message["type"] == "http.response.body" and message.get("body"):
            await self._put(bytes(message["body"]))

    async def _put(self, chunk: bytes | httpx.ReadError | None) -> None:
        """Wait for room, unless nobody reads any more: then the chunk goes nowhere, as on a closed socket."""
        if self._disconnected.is_set():
            return
        if self._chunks.full():
            room = asyncio.ensure_future(self._chunks.put(chunk))
            gone = asyncio.ensure_future(self._disconnected.wait())
            try:
                await asyncio.wait([room, gone], return_when=asyncio.FIRST_COMPLETED)
            finally:
                room.cancel()
                gone.cancel()
            return
        self._chunks.put_nowait(chunk)


class _Answer:
    """An exchange as kubeloop.client's Response."""

    def __init__(self, exchange: _Exchange) -> None:
        self._exchange = exchange
        self.status, headers = exchange.head
        self.content_type = dict(headers).get(b"content-type", b"").decode()

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._exchange:
                yield chunk
        except httpx.TransportError as error:
            raise ConnectionFailed(str(error)) from error

    async def aclose(self) -> None:
        await self._exchange.aclose()


def _scope(method: str, target: bytes, headers: Headers) -> MutableMapping[str, Any]:
    raw_path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(raw_path).decode(),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 0),
        "state": {},
    }
