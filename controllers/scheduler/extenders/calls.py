"""A question sent to an extender, and its answer. What goes wrong is told in the words of Go's client."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson

from controllers.scheduler.extenders.settings import ExtenderSettings
from kubeloop.apimachinery.field import go_quote
from kubeloop.client.connections import Connections
from kubeloop.client.kubeconfig import tls_context
from kubeloop.client.transport import ConnectionFailed, Request, Transport

# A connection a question: one that is kept may be closed by the other end just when the next question is sent.
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity", "Connection": "close"}

_UNKNOWN_AUTHORITY = (18, 19, 20, 21)  # codes of OpenSSL: self-signed, issuer not found


class ExtenderFailed(Exception):
    """No answer, or none that can be understood; the text says why."""


class Caller(Protocol):
    async def __call__(self, verb: str, question: Any) -> Any:
        """The answer as it was decoded. Raises ExtenderFailed."""
        ...


class HttpCaller:
    """Of one extender. `transport`: sockets, unless told otherwise."""

    def __init__(self, settings: ExtenderSettings, transport: Transport | None = None) -> None:
        self._url = settings.url.rstrip("/")
        self._timeout_seconds = settings.timeout_seconds
        connection = settings.connection
        self._transport = transport or Connections(self._url, tls_context(connection), connection.server_name)

    async def __call__(self, verb: str, question: Any) -> Any:
        url = f"{self._url}/{verb}"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                status, body = await self._post(verb, orjson.dumps(question))
        except TimeoutError:
            late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise ExtenderFailed(f"Post {go_quote(url)}: {late}") from None
        except ConnectionFailed as error:
            raise ExtenderFailed(f"Post {go_quote(url)}: {_as_go_says_it(error, url)}") from error
        if status != 200:
            raise ExtenderFailed(f"failed {verb} with extender at URL {url}, code {status}")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ExtenderFailed("EOF" if not body.strip() else f"invalid answer to {verb}: {error}") from error

    async def _post(self, verb: str, body: bytes) -> tuple[int, bytes]:
        response = await self._transport.send(Request("POST", f"/{verb}", _HEADERS, body))
        try:
            return response.status, await response.read()
        finally:
            await response.aclose()


def _as_go_says_it(error: ConnectionFailed, url: str) -> str:
    cause, address = error.__cause__, urlsplit(url)
    if isinstance(cause, socket.gaierror):
        return f"dial tcp: lookup {address.hostname}: no such host"
    if isinstance(cause, ssl.SSLCertVerificationError):
        is_unknown = cause.verify_code in _UNKNOWN_AUTHORITY
        why = "certificate signed by unknown authority" if is_unknown else cause.verify_message
        return f"tls: failed to verify certificate: x509: {why}"
    if not isinstance(cause, OSError) or isinstance(cause, TimeoutError):
        return "EOF"
    if isinstance(cause, ssl.SSLError) or not cause.errno:
        return str(cause)
    port = address.port or (443 if address.scheme == "https" else 80)
    return f"dial tcp {address.hostname}:{port}: connect: {os.strerror(cause.errno).lower()}"
