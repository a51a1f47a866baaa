"""The little HTTP server of a loop process: /healthz, /livez, /readyz, each of their checks, and /metrics.

Paths, parameters and words of the checks are those of controller-runtime's pkg/healthz. Answers one GET a connection.
Loopback unless told otherwise: it speaks plain HTTP and asks nobody for a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import structlog

from kubeloop.runtime.http_request import MAX_HEAD_BYTES, read_request

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}
_TEXT = "text/plain; charset=utf-8"

Answer = tuple[int, str, bytes]

# Why it fails, or "" where it does not. Looks at what the process knows, and returns at once.
Check = Callable[[], str]
Checks = Mapping[str, Check]

log = structlog.get_logger(__name__)


def _ping() -> str:
    """The process answers."""
    return ""


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """By endpoint; beside them each endpoint has `ping`, which only asks for an answer."""

    healthz: Checks
    readyz: Checks

    def answer(self, path: str, query: Mapping[str, Sequence[str]]) -> Answer | None:
        """Of /healthz, /livez, /readyz and single checks below them; None for any other path."""
        _, endpoint, *rest = path.split("/")
        checks = {"healthz": self.healthz, "livez": self.healthz, "readyz": self.readyz}.get(endpoint)
        if checks is None or len(rest) > 1:
            return None
        checks = {"ping": _ping, **checks}
        if rest and rest[0]:
            return self._one(f"{endpoint}/{rest[0]}", checks.get(rest[0]))
        return self._all(endpoint, checks, query)

    def _one(self, path: str, check: Check | None) -> Answer | None:
        if check is None:
            return None
        why = _result(path, check)
        return (500, _TEXT, f"internal server error: {why}\n".encode()) if why else (200, _TEXT, b"ok")

    def _all(self, endpoint: str, checks: Checks, query: Mapping[str, Sequence[str]]) -> Answer:
        lines, has_failed = [], False
        excluded = query.get("exclude", [])
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            why = _result(f"{endpoint}/{name}", check)
            lines.append(f"[-]{name} failed: reason withheld" if why else f"[+]{name} ok")
            has_failed |= bool(why)
        if has_failed:
            return 500, _TEXT, "\n".join([*lines, f"{endpoint} check failed", ""]).encode()
        if "verbose" not in query:
            return 200, _TEXT, b"ok"
        return 200, _TEXT, "\n".join([*lines, f"{endpoint} check passed", ""]).encode()


def _result(path: str, check: Check) -> str:
    """A check that raises has failed: a probe must get its answer, and the log says why."""
    try:
        why = check()
    except Exception as error:
        why = repr(error)
    if why:
        log.info("health check failed", check=path, reason=why)
    return why


class HealthServer:
    def __init__(
        self, address: str, port: int, checks: HealthChecks, registry: CollectorRegistry | None = None
    ) -> None:
        self._address, self._port = address, port
        self._checks, self._registry = checks, registry
        self.port = 0  # the one bound, once `is_listening`
        self.is_listening = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        server = await asyncio.start_server(self._serve, self._address, self._port, limit=MAX_HEAD_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        self.is_listening.set()
        async with server:
            await server.serve_forever()

    def answer(self, method: str, path: str, query: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Answer:
        if method != "GET":
            return 405, _TEXT, b"only GET is served here\n"
        found = self._checks.answer(path, query)
        if found is not None:
            return found
        if path == "/metrics" and self._registry is not None:
            from prometheus_client import generate_latest  # 25 ms to import, for those who are scraped

            return 200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(self._registry)
        return 404, _TEXT, b"not found\n"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read_request(reader)
            status, content_type, body = self.answer(request.method, request.path, request.query)
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
