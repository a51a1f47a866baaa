"""An httpx transport that calls an ASGI app in the same event loop and streams what it answers.

httpx's own ASGITransport returns a response once its body has ended, which a watch's never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx

Message = MutableMapping[str, Any]
App = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

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
        if self._is_refusing:
            raise httpx.ConnectError("connection refused", request=request)
        exchange = _Exchange(await request.aread(), self._exchanges)
        exchange.start(self._app, _scope(request))
        status, headers = await exchange.response_head()
        return httpx.Response(status, headers=headers, stream=exchange, request=request)

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
        self._head: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = asyncio.get_running_loop().create_future()
        self._chunks: asyncio.Queue[bytes | httpx.ReadError | None] = asyncio.Queue(MAX_WAITING_CHUNKS)  # None: the end
        self._was_cut = False
        self._task: asyncio.Task[None] | None = None

    def start(self, app: App, scope: MutableMapping[str, Any]) -> None:
        self._registry[self] = None
        self._task = asyncio.get_running_loop().create_task(
            self._call(app, scope), name=f"{scope['method']} {scope['path']}"
        )

    async def response_head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        try:
            return await self._head
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


def _scope(request: httpx.Request) -> MutableMapping[str, Any]:
    url = request.url
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (url.host, url.port or 80),
        "client": ("127.0.0.1", 0),
        "state": {},
    }
