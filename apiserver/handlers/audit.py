"""The audit log (--audit-log-path): who did what when, one audit.k8s.io/v1 Event a line, at level Metadata.

`Audited` wraps the application: it sees a request come and its response go, and learns from the gate who asked and
whether he might. A request makes one event when its response is complete; a watch one when it starts as well; a request
whose credentials are refused only one, when the refusal starts, as upstream. `AuditLog` writes the lines beside the
event loop, in a thread.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import structlog

from apiserver.auth.gate import PASSAGE, Passage, is_long_running
from apiserver.auth.reviews import user_info
from apiserver.handlers.response import Asgi, Receive, Scope, Send
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.exposition import COUNTER, Family, Sample
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.names import new_uid
from kubeloop.apimachinery.times import format_micro_time

log = structlog.get_logger("apiserver.audit")

# Events that wait to be written. Full: the newest is dropped, which is counted and logged; no request waits for a disk.
MAX_WAITING = 10_000
# Events are written together: a thread for each of them would cost as much as the request itself.
GATHER_SECONDS = 0.1
MAX_ID_LENGTH = 64

RESPONSE_STARTED, RESPONSE_COMPLETE = "ResponseStarted", "ResponseComplete"


class AuditLog:
    """Lines on their way to a file; `-` is standard output."""

    def __init__(self, path: str, clock: Clock, max_waiting: int = MAX_WAITING) -> None:
        self._path, self._clock, self._max_waiting = path, clock, max_waiting
        self._waiting: deque[bytes] = deque()
        self._has_some = asyncio.Event()
        self._events = self._errors = 0
        self._is_dropping = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Have an event written soon."""
        self._events += 1
        if len(self._waiting) < self._max_waiting:
            self._waiting.append(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
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

    async def run(self) -> None:
        """Write until cancelled, then what is left. Raises OSError where the file cannot be opened."""
        with self._opened() as file:
            try:
                while True:
                    await self._has_some.wait()
                    await self._clock.sleep(GATHER_SECONDS)
                    self._has_some.clear()
                    await self._write_beside(file, self._taken())
            finally:
                self._write(file, self._taken())

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        """Without a buffer of its own, which would try again what could not be written, at the wrong time."""
        return nullcontext(sys.stdout.buffer) if self._path == "-" else Path(self._path).open("ab", buffering=0)

    async def _write_beside(self, file: BinaryIO, lines: Sequence[bytes]) -> None:
        """In a thread. A cancellation waits for it: what follows goes to the same file."""
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, file, lines))
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

    def _write(self, file: BinaryIO, lines: Sequence[bytes]) -> None:
        try:
            left = memoryview(b"".join(lines))
            while left:
                left = left[file.write(left) :]
            file.flush()
        except OSError as error:
            self._errors += len(lines)
            log.error("cannot write audit events", events=len(lines), error=str(error))


@dataclass(slots=True)
class _Request:
    """One request, as far as it has come."""

    scope: Scope
    audit_id: str
    received: datetime
    passage: Passage = field(default_factory=Passage)
    status: int = 0
    body: bytes = b""  # of a refusal or a creation; nothing else is needed

    @property
    def is_refused(self) -> bool:
        """Whether nobody knows who asks."""
        return self.passage.user is None and self.status == 401

    @property
    def is_told_by_body(self) -> bool:
        access = self.passage.access
        return self.status >= 400 or (access is not None and access.verb == "create")


class Audited:
    """The application with an audit log around it."""

    def __init__(self, app: Asgi, audit_log: AuditLog, clock: Clock, rng: random.Random) -> None:
        self._app, self._log, self._clock, self._rng = app, audit_log, clock, rng

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, self._id(scope), self._clock.now())
        scope[PASSAGE] = request.passage
        try:
            await self._app(scope, receive, self._watched(request, send))
        finally:
            if not request.is_refused:
                self._note(request, RESPONSE_COMPLETE)

    def _id(self, scope: Scope) -> str:
        """A client may bring an id of its own, to find its requests again."""
        return _header(scope, b"audit-id")[:MAX_ID_LENGTH] or new_uid(self._rng)

    def _watched(self, request: _Request, send: Send) -> Send:
        """`send`, with the response's id added and its status noted."""

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"audit-id", request.audit_id.encode("latin-1"))]
                if is_long_running(request.passage.access) or request.is_refused:
                    self._note(request, RESPONSE_STARTED)
            elif request.is_told_by_body and not message.get("more_body", False):
                request.body = message.get("body", b"")
            await send(message)

        return watched

    def _note(self, request: _Request, stage: str) -> None:
        self._log.add(_event(request, stage, self._clock.now()))


def _event(request: _Request, stage: str, now: datetime) -> Object:
    """The audit.k8s.io/v1 Event, its fields in the order of the Go type."""
    scope, passage = request.scope, request.passage
    answer = _answer(request.body)
    query = scope["query_string"].decode("latin-1")
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": request.audit_id,
        "stage": stage,
        "requestURI": path + (f"?{query}" if query else ""),
        "verb": passage.access.verb if passage.access else scope["method"].lower(),
        "user": user_info(passage.user) if passage.user else {},
    }
    if passage.impersonated is not None:
        event["impersonatedUser"] = user_info(passage.impersonated)
    event["sourceIPs"] = _sources(scope)
    if user_agent := _header(scope, b"user-agent"):
        event["userAgent"] = user_agent
    if reference := _reference(passage, answer):
        event["objectRef"] = reference
    event["responseStatus"] = _response_status(request, answer)
    event["requestReceivedTimestamp"] = format_micro_time(request.received)
    event["stageTimestamp"] = format_micro_time(now)
    if passage.annotations:
        event["annotations"] = dict(sorted(passage.annotations.items()))  # as Go writes a map
    return event


def _reference(passage: Passage, answer: Object) -> Object:
    """What the request is about; one that was just created is named as the answer names it."""
    access = passage.access
    if access is None or not access.is_resource:
        return {}
    named = answer.get("metadata") or {} if answer.get("kind") != "Status" else answer.get("details") or {}
    reference = {
        "resource": access.resource,
        "namespace": access.namespace,
        "name": access.name or named.get("name", ""),
        "apiGroup": access.group,
        "apiVersion": access.version,
        "subresource": access.subresource,
    }
    return {name: value for name, value in reference.items() if value}


def _response_status(request: _Request, answer: Object) -> Object:
    if request.is_refused:
        return {"metadata": {}, "message": _attempted(request.scope), "code": request.status}
    if not request.status:
        return {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}
    if answer.get("kind") == "Status" and request.status >= 400:
        shown = ("metadata", "status", "message", "reason", "details", "code")
        return {name: answer[name] for name in shown if name in answer}
    return {"metadata": {}, "code": request.status}


def _answer(body: bytes) -> Object:
    """The object a response carries, or nothing: tables, YAML and text say no more than the status does."""
    if not body.startswith(b"{"):
        return {}
    try:
        parsed = orjson.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _attempted(scope: Scope) -> str:
    """How somebody who was not known tried to be."""
    scheme = _header(scope, b"authorization").partition(" ")[0].lower()
    if scheme in ("basic", "bearer"):
        return f"Authentication failed, attempted: {scheme}"
    return "Authentication failed, no credentials provided"


def _sources(scope: Scope) -> list[str]:
    """Where the request came from: proxies that say so first, then the connection's other end."""
    forwarded = [part.strip() for part in _header(scope, b"x-forwarded-for").split(",") if part.strip()]
    real, client = _header(scope, b"x-real-ip"), scope.get("client")
    more = [real] if real else []
    if client and client[0] not in ([*forwarded, *more] or [""])[-1:]:
        more.append(client[0])
    return [*forwarded, *more]


def _header(scope: Scope, wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), "")
