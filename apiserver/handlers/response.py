"""Answers, and how they go out over ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

import orjson

from apiserver.handlers.negotiation import JSON
from apiserver.handlers.warning_headers import warning_headers
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.values import value

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

# What is read may have changed the next moment; whoever may keep an answer says so himself.
NOT_KEPT = (b"cache-control", b"no-cache, private")
TEXT = "text/plain; charset=utf-8"


@value
class Response:
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Sequence[tuple[bytes, bytes]] = ()

    async def send(self, send: Send, warnings: Sequence[str] = ()) -> None:
        headers = [
            (b"content-type", self.content_type.encode()),
            (b"content-length", b"%d" % len(self.body)),
            *self.headers,
            *(() if self.headers and _says_how_long_to_keep(self.headers) else (NOT_KEPT,)),
            *warning_headers(warnings),
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _says_how_long_to_keep(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return any(name == b"cache-control" for name, _ in headers)


def error_response(error: ApiError) -> Response:
    """A refusal as its Status; a client told to come back later learns when."""
    status = error.to_status()
    retry = (error.details or {}).get("retryAfterSeconds")
    headers = [(b"retry-after", b"%d" % retry)] if retry else []
    return Response(_line(error.code), _json_of(status), headers=headers)


def _line(code: int) -> int:
    """The code of the answer itself: webhooks may refuse with codes that HTTP does not have."""
    return code if 100 <= code < 600 else 500


def _json_of(status: Mapping[str, Any]) -> bytes:
    return orjson.dumps(status, option=orjson.OPT_APPEND_NEWLINE)


def success(details: Mapping[str, Any] | None = None, code: int = 200) -> Response:
    """The Status of something done that has no object to show."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code != 200:
        status["code"] = code
    return Response(code, _json_of(status))


NOT_FOUND_TEXT = Response(404, b"404 page not found\n", TEXT, [(b"x-content-type-options", b"nosniff")])
