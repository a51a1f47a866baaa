"""The lines of the audit log on their way to its file, in JSON or in the old format of text.

`AuditLog` writes them beside the event loop, in a thread: no request waits for a disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from apiserver.handlers.audit_file import WITHOUT_END, AuditFile, Rotation
from apiserver.handlers.audit_policy import DEFAULT, Policy
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.exposition import COUNTER, Family, Sample
from kubeloop.apimachinery.field import go_quote

log = structlog.get_logger("apiserver.audit")

# Events that wait to be written. Full: the newest is dropped, which is counted and logged; no request waits for a disk.
MAX_WAITING = 10_000
# Events are written together: a thread for each of them would cost as much as the request itself.
GATHER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Flags of the server; without a path nothing is audited."""

    path: str = ""
    format: str = "json"  # or legacy: a line of text
    policy: Policy = DEFAULT
    rotation: Rotation = WITHOUT_END


def _json_line(event: Mapping[str, Any]) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def _text_line(event: Mapping[str, Any]) -> bytes:
    """The old format, one line of text."""
    user, acting = event["user"], event.get("impersonatedUser")
    values = {
        "id": event["auditID"],
        "stage": event["stage"],
        "ip": (event.get("sourceIPs") or ["<unknown>"])[0],
        "method": event["verb"],
        "user": user.get("username") or "<none>",
        "groups": _groups(user) or "<none>",
        "as": acting["username"] if acting else "<self>",
        "asgroups": (acting and _groups(acting)) or "<lookup>",
        "user-agent": event.get("userAgent", ""),
        "namespace": (event.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": event["requestURI"],
        "response": str(event["responseStatus"]["code"]) if "responseStatus" in event else "<deferred>",
    }
    said = " ".join(f"{name}={go_quote(value)}" for name, value in values.items())
    return f"{event['requestReceivedTimestamp']} AUDIT: {said}\n".encode()


def _groups(user: Mapping[str, Any]) -> str:
    return ",".join(map(go_quote, user.get("groups") or ()))


FORMATS: Mapping[str, Callable[[Mapping[str, Any]], bytes]] = {"json": _json_line, "legacy": _text_line}


class AuditLog:
    """Lines on their way to a file; `-` is standard output."""

    def __init__(self, settings: AuditSettings, clock: Clock, max_waiting: int = MAX_WAITING) -> None:
        self._clock, self._max_waiting = clock, max_waiting
        self._file = AuditFile(settings.path, settings.rotation, clock.now)
        self._encode = FORMATS[settings.format]
        self._waiting: deque[bytes] = deque()
        self._has_some = asyncio.Event()
        self._events = self._errors = 0
        self.levels: dict[str, int] = {}  # of requests
        self._is_dropping = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Have an event written soon."""
        self._events += 1
        if len(self._waiting) < self._max_waiting:
            self._waiting.append(self._encode(event))
            self._has_some.set()
            return
        self._errors += 1
        if not self._is_dropping:  # once for each time it happens, not for each event
            self._is_dropping = True
            log.error("dropping audit events: they come faster than they can be written")

    def families(self) -> Iterator[Family]:
        yield Family(
            "apiserver_audit_event_total",
            COUNTER,
            "[ALPHA] Counter of audit events generated and sent to the audit backend.",
            [Sample({}, self._events)],
        )
        yield Family(
            "apiserver_audit_error_total",
            COUNTER,
            "[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected "
            "by the error.",
            [Sample({"plugin": "log"}, self._errors)],
        )
        yield Family(
            "apiserver_audit_level_total",
            COUNTER,
            "[ALPHA] Counter of policy levels for audit events (1 per request).",
            [Sample({"level": level}, count) for level, count in self.levels.items()],
        )

    async def run(self) -> None:
        """Write until cancelled, then what is left. Raises OSError where the file cannot be opened."""
        self._file.open()
        try:
            while True:
                await self._has_some.wait()
                await self._clock.sleep(GATHER_SECONDS)
                self._has_some.clear()
                await self._write_beside(self._taken())
        finally:
            self._write(self._taken())
            self._file.close()

    async def _write_beside(self, lines: Sequence[bytes]) -> None:
        """In a thread. A cancellation waits for it: what follows goes to the same file."""
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, lines))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise
        self._is_dropping = False

    def _taken(self) -> list[bytes]:
        lines = list(self._waiting)
        self._waiting.clear()
        return lines

    def _write(self, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        try:
            self._file.write(b"".join(lines))
        except OSError as error:
            self._errors += len(lines)
            log.error("cannot write audit events", events=len(lines), error=str(error))
