"""Connections to webhooks and aggregated API servers: one set for each address and trust, kept for the next call.

Loaded with the first server that is called, as httpx takes a while. Connections are HTTP/1.1, as upstream's are to
anything but localhost, and as many as calls are under way: a watch that is passed on keeps one for as long as its
client keeps his, and a hundred of those may not hold up the next call. Idle ones are kept up to MAX_IDLE_CONNECTIONS.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from apiserver.outgoing.errors import CallError
from apiserver.outgoing.go_words import as_go_says_it
from apiserver.outgoing.tls import tls_context
from apiserver.outgoing.trust import Trust
from kubeloop.apimachinery.field import go_quote

Transports = Callable[[ssl.SSLContext], httpx.AsyncBaseTransport]
Headers = Mapping[str, str] | Sequence[tuple[bytes, bytes]]

MAX_IDLE_CONNECTIONS = 100  # to one address
MAX_SETS = 200  # as upstream's cache of clients; full: the one idle longest is closed
IDLE_SECONDS = 90.0


def real_transport(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    """HTTP/1.1 over sockets; proxies of the environment are left alone."""
    limits = httpx.Limits(max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS)
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)


@dataclass(slots=True)
class _Set:
    transport: httpx.AsyncBaseTransport
    calls: int = 0  # under way


class Connections:
    """Finds the connections of a call, or opens them."""

    def __init__(self, transports: Transports | None = None) -> None:
        self._transports = transports or real_transport
        self._sets: OrderedDict[tuple[str, Trust], _Set] = OrderedDict()  # least recently used first

    @asynccontextmanager
    async def answered(
        self,
        method: str,
        shown: str,
        address: str,
        trust: Trust,
        headers: Headers,
        body: bytes | AsyncIterator[bytes] = b"",
        target: bytes = b"",
    ) -> AsyncIterator[httpx.Response]:
        """The answer to a request, its body still to be read; CallError in Go's words where there is none.

        `address` is HOST:PORT to dial, `shown` the URL that is meant, which errors name. `target`: path and query
        exactly as they are to be sent, as what somebody was authorized for; otherwise those of the URL, tidied up. A
        `body` in pieces goes in chunks, unless the headers tell its length. An error while the answer's body is read
        becomes a CallError too.
        """
        what = f"{method.capitalize()} {go_quote(shown)}"
        extensions: dict[str, Any] = {"sni_hostname": trust.server_name}
        if target:
            extensions["target"] = target
        try:
            url = _url(shown, address, trust.is_plain)
            request = httpx.Request(method, url, headers=headers, content=body, extensions=extensions)
            async with self._held((address, trust)) as transport:
                response = await transport.handle_async_request(request)
                try:
                    yield response
                finally:
                    await response.aclose()
        except httpx.InvalidURL as error:
            host = address.rpartition(":")[0].strip("[]")
            raise CallError(f"{what}: dial tcp: lookup {host}: no such host") from error
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            why = await as_go_says_it(error, address, trust.server_name)
            raise CallError(f"{what}: {why}", why) from error

    @asynccontextmanager
    async def _held(self, key: tuple[str, Trust]) -> AsyncIterator[httpx.AsyncBaseTransport]:
        """The transport of a key, which nobody closes meanwhile."""
        found = self._sets.get(key)
        if found is None:
            found = self._sets[key] = _Set(self._transports(tls_context(key[1])))
        self._sets.move_to_end(key)
        found.calls += 1
        try:
            yield found.transport
        finally:
            found.calls -= 1
            await self._close_idle()

    async def _close_idle(self) -> None:
        while len(self._sets) > MAX_SETS:
            idle = next((key for key, one in self._sets.items() if not one.calls), None)
            if idle is None:
                return  # all are in use: the first to finish closes one
            await self._sets.pop(idle).transport.aclose()

    async def close(self) -> None:
        while self._sets:
            await self._sets.popitem()[1].transport.aclose()


def _url(shown: str, address: str, is_plain: bool) -> httpx.URL:
    """What is meant, at the address that is dialled."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return httpx.URL(shown).copy_with(scheme="http" if is_plain else "https", host=host, port=int(port))


async def whole_body(response: httpx.Response, max_bytes: int) -> bytes:
    """Uncompressed; CallError as soon as it is known to be larger."""
    chunks, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > max_bytes:
            raise CallError(f"the response is larger than {max_bytes} bytes")
        chunks.append(chunk)
    return b"".join(chunks)
