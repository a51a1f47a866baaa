"""The audit log (--audit-log-path): who did what when, one audit.k8s.io/v1 Event a line.

`Audited` wraps the application: it sees a request come and its response go, learns from the gate who asked and whether
he might, and from the handlers what he sent. The policy (`audit_policy.py`) says what of a request is written down at
which stages: when it is received, when a watch starts to be answered, when the response is complete; a request whose
credentials are refused makes one event, when the refusal starts, as upstream. `AuditLog` (`audit_log.py`) writes them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from apiserver.admission.chain import PATCH_ANNOTATION
from apiserver.auth.gate import PASSAGE, Passage, is_long_running
from apiserver.auth.reviews import user_info
from apiserver.handlers.audit_log import AuditLog
from apiserver.handlers.audit_policy import (
    COMPLETE,
    NONE,
    RECEIVED,
    REQUEST,
    REQUEST_RESPONSE,
    STARTED,
    Policy,
    Verdict,
)
from apiserver.handlers.response import Asgi, Receive, Scope, Send
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.names import new_uid
from kubeloop.apimachinery.times import format_micro_time
from kubeloop.apimachinery.yaml_text import parse_yaml

MAX_ID_LENGTH = 64

MAX_AGENT_LENGTH = 1024
_NAMING = ("name", "namespace", "resourceVersion", "uid")


@dataclass(slots=True)
class _Request:
    """One request, as far as it has come."""

    scope: Scope
    audit_id: str
    received: datetime
    passage: Passage = field(default_factory=Passage)
    verdict: Verdict | None = None  # once it is known who asks
    status: int = 0
    body: bytes = b""  # of a refusal, or where the answer is written down
    named: Object = field(default_factory=dict)  # metadata of the object that was sent
    sent: Any = None  # that object, or the patch, where it is written down

    @property
    def is_refused(self) -> bool:
        """Whether nobody knows who asks."""
        return self.passage.user is None and self.status == 401

    @property
    def keeps_body(self) -> bool:
        if self.status >= 400:
            return True
        return self.verdict is not None and self.verdict.is_at_least(REQUEST_RESPONSE)

    def note(self, sent: Object | bytes) -> None:
        """What the client sent: an object as it was understood, or a patch as it is."""
        if isinstance(sent, dict):
            self.named = {name: value for name, value in (sent.get("metadata") or {}).items() if name in _NAMING}
        if self.verdict is not None and self.verdict.is_at_least(REQUEST):
            self.sent = _as_json(sent) if isinstance(sent, bytes) else deep_copy(sent)


class Audited:
    """The application with an audit log around it."""

    def __init__(self, app: Asgi, audit_log: AuditLog, policy: Policy, clock: Clock, rng: random.Random) -> None:
        self._app, self._log, self._policy = app, audit_log, policy
        self._clock, self._rng = clock, rng

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, self._id(scope), self._clock.now())
        scope[PASSAGE] = passage = request.passage
        passage.on_known = lambda: self._received(request)
        passage.note = request.note
        try:
            await self._app(scope, receive, self._watched(request, send))
        finally:
            if not request.is_refused:
                self._note(request, COMPLETE)

    def _id(self, scope: Scope) -> str:
        """A client may bring an id of its own, to find its requests again."""
        return _header(scope, b"audit-id")[:MAX_ID_LENGTH] or new_uid(self._rng)

    def _received(self, request: _Request) -> None:
        """It is known who asks for what: the policy says what becomes of it."""
        self._judge(request)
        self._note(request, RECEIVED)

    def _judge(self, request: _Request) -> Verdict:
        access = request.passage.access
        request.verdict = verdict = self._policy.verdict(access) if access is not None else self._policy.otherwise
        self._log.levels[verdict.level] = self._log.levels.get(verdict.level, 0) + 1
        return verdict

    def _watched(self, request: _Request, send: Send) -> Send:
        """`send`, with the response's id added and its status noted."""

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"audit-id", request.audit_id.encode("latin-1"))]
                if is_long_running(request.passage.access) or request.is_refused:
                    self._note(request, STARTED)
            elif request.keeps_body and not message.get("more_body", False):
                request.body = message.get("body", b"")
            await send(message)

        return watched

    def _note(self, request: _Request, stage: str) -> None:
        verdict = request.verdict or self._judge(request)
        if verdict.level == NONE or stage in verdict.omitted_stages:
            return
        now = request.received if stage == RECEIVED else self._clock.now()
        self._log.add(_event(request, verdict, stage, now))


def _event(request: _Request, verdict: Verdict, stage: str, now: datetime) -> Object:
    """The audit.k8s.io/v1 Event, its fields in the order of the Go type."""
    scope, passage = request.scope, request.passage
    answer = _answer(request.body)
    query = scope["query_string"].decode("latin-1")
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": verdict.level,
        "auditID": request.audit_id,
        "stage": stage,
        "requestURI": path + (f"?{query}" if query else ""),
        "verb": passage.access.verb if passage.access else scope["method"].lower(),
        "user": user_info(passage.user) if passage.user else {},
    }
    if passage.impersonated is not None:
        event["impersonatedUser"] = user_info(passage.impersonated)
    if passage.constraint:
        event["authenticationMetadata"] = {"impersonationConstraint": passage.constraint}
    event["sourceIPs"] = _sources(scope)
    if user_agent := _header(scope, b"user-agent"):
        event["userAgent"] = _cut(user_agent)
    if reference := _reference(passage, request.named):
        event["objectRef"] = reference
    if stage != RECEIVED:
        event["responseStatus"] = _response_status(request, answer)
    if request.sent is not None:
        event["requestObject"] = _shown(request.sent, verdict)
    if stage == COMPLETE and answer and verdict.is_at_least(REQUEST_RESPONSE):
        event["responseObject"] = _shown(answer, verdict)
    event["requestReceivedTimestamp"] = format_micro_time(request.received)
    event["stageTimestamp"] = format_micro_time(now)
    shows_patches = verdict.is_at_least(REQUEST)
    annotations = {
        key: value
        for key, value in sorted(passage.annotations.items())  # as Go writes a map
        if shows_patches or not key.startswith(PATCH_ANNOTATION)
    }
    if annotations:
        event["annotations"] = annotations
    return event


def _shown(sent: Any, verdict: Verdict) -> Any:
    """An object, perhaps without its managed fields and those of its items."""
    if not verdict.omits_managed_fields or not isinstance(sent, dict):
        return sent
    shown: Object = deep_copy(sent)
    for one in (shown, *(shown.get("items") or ()), *(row.get("object") for row in shown.get("rows") or ())):
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"].pop("managedFields", None)
    return shown


def _as_json(patch: bytes) -> Any:
    """A patch as JSON; nothing where it cannot be read."""
    try:
        return parse_yaml(patch)
    except ValueError:
        return None


def _cut(user_agent: str) -> str:
    return user_agent if len(user_agent) <= MAX_AGENT_LENGTH else f"{user_agent[:MAX_AGENT_LENGTH]}...TRUNCATED"


def _reference(passage: Passage, named: Object) -> Object:
    """What the request is about; what its path does not say is taken from the object that was sent."""
    access = passage.access
    if access is None or not access.is_resource:
        return {}
    reference = {
        "resource": access.resource,
        "namespace": access.namespace or named.get("namespace", ""),
        "name": access.name or named.get("name", ""),
        "uid": named.get("uid", ""),
        "apiGroup": access.group,
        "apiVersion": access.version,
        "resourceVersion": named.get("resourceVersion", ""),
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
