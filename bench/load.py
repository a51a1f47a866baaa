"""A load generator for one URL: N keep-alive connections that send the same request again as soon as it is answered.

Plain asyncio protocols, no HTTP library: its own cost must stay far below the server's. It runs as a process of its own
(`python -m bench.load URL …`) and prints one JSON line: {"per_s", "p50_ms", "p99_ms", "refused"}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit


class Connection(asyncio.Protocol):
    """One connection: request, response, request, … until `deadline`."""

    def __init__(self, request: bytes, deadline: float, latencies: list[float], refused: list[int]) -> None:
        self._request, self._deadline, self._latencies, self._refused = request, deadline, latencies, refused
        self._buffer = bytearray()
        self._needed = -1  # bytes of the response under way, -1 while its head is incomplete
        self._sent = 0.0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        if self._sent >= self._deadline:
            self._transport.close()
            self.done.set_result(None)
            return
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._needed < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            start = head.index(b"content-length:") + 15
            self._needed = end + 4 + int(head[start:].split(b"\r\n", 1)[0])
            if not head.startswith((b"http/1.1 200", b"http/1.1 201")):
                self._refused[0] += 1
        if len(self._buffer) >= self._needed:
            self._latencies.append(time.perf_counter() - self._sent)
            del self._buffer[: self._needed]
            self._needed = -1
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


async def run(url: str, body: bytes, connections: int, seconds: float) -> dict[str, float]:
    """Load `url` for `seconds`: GET, or POST where there is a body."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/json\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    request = head.encode() + b"\r\n" + body
    latencies: list[float] = []
    refused = [0]
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    made = [
        await loop.create_connection(
            lambda: Connection(request, began + seconds, latencies, refused), parts.hostname or "", parts.port or 80
        )
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.done for _, connection in made))
    took = time.perf_counter() - began
    latencies.sort()
    return {
        "per_s": round(len(latencies) / took, 1),
        "p50_ms": round(latencies[len(latencies) // 2] * 1000, 2),
        "p99_ms": round(latencies[int(len(latencies) * 0.99)] * 1000, 2),
        "refused": refused[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--body", type=Path)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    body = options.body.read_bytes() if options.body else b""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        print(json.dumps(runner.run(run(options.url, body, options.connections, options.seconds))))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    main()
