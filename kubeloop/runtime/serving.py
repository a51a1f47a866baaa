"""The little HTTP server of a loop process: /healthz, /livez, /readyz and /metrics.

Answers one GET a connection. Loopback unless told otherwise: it speaks plain HTTP and asks nobody for a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

MAX_HEAD_BYTES = 16 * 1024
_READ_SECONDS = 5.0
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}
_TEXT = "text/plain; charset=utf-8"

Answer = tuple[int, str, bytes]


class HealthServer:
    def __init__(
        self, address: str, port: int, is_ready: Callable[[], bool], registry: CollectorRegistry | None = None
    ) -> None:
        self._address, self._port = address, port
        self._is_ready, self._registry = is_ready, registry
        self.port = 0  # the one bound, once `is_listening`
        self.is_listening = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        server = await asyncio.start_server(self._serve, self._address, self._port, limit=MAX_HEAD_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        self.is_listening.set()
        async with server:
            await server.serve_forever()

    def answer(self, method: str, path: str) -> Answer:
        if method != "GET":
            return 405, _TEXT, b"only GET is served here\n"
        if path in ("/healthz", "/livez"):
            return 200, _TEXT, b"ok"
        if path == "/readyz":
            return (200, _TEXT, b"ok") if self._is_ready() else (500, _TEXT, b"not ready: informers have not synced\n")
        if path == "/metrics" and self._registry is not None:
            from prometheus_client import generate_latest  # 25 ms to import, for those who are scraped

            return 200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(self._registry)
        return 404, _TEXT, b"not found\n"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = [*head.decode("latin-1").split("\r\n")[0].split(" "), ""]
            status, content_type, body = self.answer(method, target.partition("?")[0])
            writer.write(
                f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {content_type}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked is gone, or never meant HTTP
        finally:
            writer.close()
