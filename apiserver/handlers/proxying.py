"""Requests for what an aggregated API server answers: passed on to it with who asks, its answer streamed back.

Whoever asks has passed this server's gate: authenticated, authorized. Words and codes are those of kube-aggregator's
handler_proxy.go (v1.36). Upgraded connections (SPDY, WebSocket) are not passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from urllib.parse import quote

import structlog

from apiserver.aggregation.aggregated import Aggregated
from apiserver.aggregation.calls import Calls, identity, is_identity
from apiserver.aggregation.remote import Remote
from apiserver.auth.authentication import User
from apiserver.auth.certificates import CERTIFIED
from apiserver.auth.gate import PASSAGE, Gate, access_of, is_long_running
from apiserver.handlers.bodies import HungUp, read_body
from apiserver.handlers.deadlines import USUAL, Times, seconds_of, within
from apiserver.handlers.hops import end_to_end
from apiserver.handlers.limits import TOO_MANY, InFlightLimits, Overloaded
from apiserver.handlers.relaying import Exchange, first, hang_up, stopped
from apiserver.handlers.request import parse_query
from apiserver.handlers.response import TEXT, Receive, Response, Scope, Send, error_response
from apiserver.outgoing.errors import CallError, UnusableTrust
from apiserver.outgoing.services import ServiceError
from kubeloop.apimachinery.errors import ApiError

log = structlog.get_logger("apiserver")

# How long the discovery of a group version may take: every client asks for it, and waits.
DISCOVERY_SECONDS = 5.0

_REDIRECTS, _STATUSES = range(300, 400), range(200, 600)
_PLAIN_IN_PATHS = "$&+,/:;=@"
_OURS = frozenset({b"authorization", b"content-length", b"expect", b"host", b"x-forwarded-for"})


class Proxy:
    def __init__(
        self,
        aggregated: Aggregated,
        calls: Calls,
        gate: Gate,
        limits: InFlightLimits | None = None,
        times: Times = USUAL,
    ) -> None:
        self.aggregated = aggregated
        self._calls, self._gate = calls, gate
        self._limits, self._times = limits or InFlightLimits(), times
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the answers that go on for ever."""
        self._stopping.set()

    async def __call__(self, remote: Remote, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(send)
        try:
            await self._pass_on(remote, scope, receive, exchange)
        except HungUp:
            return
        except Overloaded:
            await TOO_MANY.send(send)
        except ApiError as error:
            if not exchange.has_begun:
                await error_response(error).send(send)
        except ServiceError as error:
            log.warning("an aggregated API cannot be resolved", apiservice=remote.name, error=str(error))
            await _text(503, "service unavailable").send(send)
        except UnusableTrust as error:
            await _text(500, str(error)).send(send)
        except CallError as error:
            if not exchange.has_begun:
                await _text(503, f"error trying to reach service: {error}").send(send)
        except Exception:
            log.exception("request was not passed on", method=scope["method"], path=scope["path"])
            if not exchange.has_begun:
                await _text(500, "the server could not carry out the request").send(send)

    async def _pass_on(self, remote: Remote, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        method, query = scope["method"], parse_query(scope["query_string"])
        certified, passage = scope.get(CERTIFIED), scope.get(PASSAGE)
        user = self._gate.admit(method, scope["path"], query, scope["headers"], certified, passage)
        if remote.name not in self.aggregated.available:
            await _text(503, "service unavailable").send(exchange.send)
            return
        access = access_of(user, method, scope["path"], query)
        with self._limits.slot(access.verb, user):
            seconds = seconds_of(access.verb, access.subresource, query, self._times.request_seconds)
            body = b"" if method in ("GET", "HEAD") else (await read_body(dict(scope["headers"]), receive)).raw
            forward = self._forward(remote, scope, user, body, receive, exchange, is_long_running(access))
            if _is_discovery(scope["path"]):
                await _soon(forward)
                return
            if seconds is None and not is_long_running(access):
                seconds = self._times.request_seconds
            await within(seconds, forward)

    async def _forward(
        self,
        remote: Remote,
        scope: Scope,
        user: User,
        body: bytes,
        receive: Receive,
        exchange: Exchange,
        is_long: bool,
    ) -> None:
        call = self._calls.answered(remote, scope["method"], _target(scope), list(_headers(scope, user, body)), body)
        hang_ups = [hang_up(receive), *([stopped(self._stopping)] if is_long else [])]
        try:
            async with asyncio.TaskGroup() as tasks:
                waiting = [tasks.create_task(one) for one in hang_ups]
                async with call as response:
                    if refused := _unfit(response.status_code, "location" in response.headers):
                        await exchange.refuse(refused)
                    else:
                        await exchange.begin(response.status_code, response.headers.raw)
                        async for chunk in response.aiter_raw():
                            await exchange.go_on(chunk)
                for one in waiting:
                    one.cancel()
        except* HungUp:
            pass
        except* CallError as errors:
            raise first(errors) from None
        await exchange.end()


def _target(scope: Scope) -> str:
    """The path that was authorized, escaped as Go does it however it came; and the query as it was sent."""
    path, query = quote(scope["path"], safe=_PLAIN_IN_PATHS), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _headers(scope: Scope, user: User, body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What the client sent but for what is between it and this server; and who it is."""
    forwarded = []
    for name, value in end_to_end(scope["headers"]):
        if name == b"x-forwarded-for":
            forwarded.append(value)
        elif not (name in _OURS or name.startswith(b"impersonate-") or is_identity(name)):
            yield name, value
    if scope.get("client"):
        yield b"x-forwarded-for", b", ".join([*forwarded, scope["client"][0].encode()])
    if body:
        yield b"content-length", b"%d" % len(body)
    yield from identity(user)


async def _soon(forward: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(DISCOVERY_SECONDS):
            await forward
    except TimeoutError as error:
        raise CallError("context deadline exceeded") from error


def _unfit(status: int, has_location: bool) -> Response | None:
    """What is said instead of an answer that is not passed on. Upstream refuses redirects too, which lead anywhere."""
    if status in _REDIRECTS and has_location:
        return _text(502, "the backend attempted to redirect this request, which is not permitted")
    if status not in _STATUSES:
        return _text(502, f"the backend answered with the unknown status {status}")
    return None


def _is_discovery(path: str) -> bool:
    """`/apis/GROUP/VERSION` and no more."""
    return len(path.strip("/").split("/")) == 3


def _text(status: int, text: str) -> Response:
    return Response(status, text.encode() + b"\n", TEXT, [(b"x-content-type-options", b"nosniff")])
