"""`/proxy` of pods, Services and nodes: a request is passed on to what they serve, the answer handed back as it comes.

Words and codes are those of apimachinery/pkg/util/proxy (upgradeaware.go, transport.go, v1.36). Two things differ:
pages of HTML are not rewritten, and connections are not upgraded, which exec and port-forward are there for.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from apiserver.handlers.call import Call
from apiserver.handlers.hops import RawHeaders, end_to_end
from apiserver.handlers.kubelet_peer import Peer
from apiserver.handlers.relaying import Exchange, Upload, exchanged
from apiserver.handlers.response import Receive, Response, Scope, Send
from apiserver.outgoing.outgoing import Outgoing
from kubeloop.apimachinery.errors import ApiError, ServiceUnavailable
from kubeloop.apimachinery.forwarding import UNREACHABLE_HEADER

# In the scope of a request with a body: lets it take as long as it likes (connections.py).
UNHURRIED = "kubeloop.unhurried"

_PLAIN_IN_PATHS = "$&+,/:;=@"
# What is between the client and this server, or says who he is; and what would make him out to be a web page.
_KEPT_BACK = frozenset({b"authorization", b"expect", b"host", b"origin", b"x-forwarded-for"})
_UNTOLD = (UNREACHABLE_HEADER.encode(), b"access-control-")


@dataclass(frozen=True, slots=True)
class Backend:
    """Who answers. `shown`: HOST:PORT as it would be dialled in a network, `prefix`: where the kubelet has it."""

    peer: Peer
    shown: str
    scheme: str = ""  # "": that of the kubelet
    prefix: str = ""
    headers: Sequence[tuple[bytes, bytes]] = ()


@dataclass(frozen=True, slots=True)
class Proxied:
    outgoing: Outgoing
    backend: Backend
    call: Call
    stopping: asyncio.Event

    async def relay(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, base = self._paths(scope["path"])
        query = scope["query_string"]
        if not path and self.call.method in ("GET", "HEAD"):
            await _with_slash(scope["path"], query).send(send)
            return
        if self.backend.peer.address is None:
            raise _unreachable(f"dial tcp {self.backend.shown}: connect: no route to host")
        upload = Upload(receive, scope["headers"])
        if upload.is_expected and UNHURRIED in scope:
            scope[UNHURRIED]()
        async with exchanged(send, upload.receive, self.stopping, lambda error: _unreachable(error.why)) as exchange:
            await self._pass_on(scope, path or "/", base, upload, exchange)

    def _paths(self, asked: str) -> tuple[str, str]:
        """What is asked of the backend, "" for nothing at all; and what stands before that in the URL."""
        tail = self.call.target.tail
        path = f"/{tail}" if tail else ""
        if asked.endswith("/") and not path.endswith("/"):
            path += "/"
        return path, asked.removesuffix(path)

    async def _pass_on(self, scope: Scope, path: str, base: str, upload: Upload, exchange: Exchange) -> None:
        backend, address = self.backend, self.backend.peer.address
        assert address is not None, "somebody is there to be dialled"
        escaped = quote(path, safe=_PLAIN_IN_PATHS)
        target = f"{backend.prefix}{escaped}".encode()
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        headers = [*self._headers(scope, base, escaped), *backend.headers, *backend.peer.headers]
        url = f"{backend.scheme or 'https'}://{backend.shown}{escaped}"
        body = upload.pieces() if upload.is_expected else b""
        answered = self.outgoing.connections.answered(
            self.call.method, url, address.host_port, backend.peer.trust, headers, body, target
        )
        async with answered as response:
            upload.end()
            if why := response.headers.get(UNREACHABLE_HEADER):
                raise _unreachable(f"dial tcp {backend.shown}: {why}")
            if backend.scheme == "https":  # no simulated pod speaks TLS
                raise _unreachable("http: server gave HTTP response to HTTPS client")
            await exchange.begin(response.status_code, list(_answered(response.headers.raw, base)))
            async for chunk in response.aiter_raw():
                await exchange.go_on(chunk)

    def _headers(self, scope: Scope, base: str, path: str) -> Iterator[tuple[bytes, bytes]]:
        forwarded = []
        for name, value in end_to_end(scope["headers"]):
            if name == b"x-forwarded-for":
                forwarded.append(value)
            elif name not in _KEPT_BACK and not name.startswith(b"impersonate-"):
                yield name, value
        if scope.get("client"):
            yield b"x-forwarded-for", b", ".join([*forwarded, scope["client"][0].encode()])
        yield b"x-forwarded-uri", f"{quote(base, safe=_PLAIN_IN_PATHS)}{path}".encode()


def _answered(headers: RawHeaders, base: str) -> Iterator[tuple[bytes, bytes]]:
    """A redirect within the backend leads through this server again."""
    for name, value in end_to_end(headers):
        if name == b"location" and value.startswith(b"/") and not value.startswith((b"//", base.encode())):
            yield name, posixpath.join(base.encode(), value.lstrip(b"/"))
        elif not name.startswith(_UNTOLD):
            yield name, value


def _with_slash(path: str, query: bytes) -> Response:
    """So that relative links of the page lead to it."""
    location = quote(f"{path}/", safe=_PLAIN_IN_PATHS).encode() + (b"?" + query if query else b"")
    return Response(301, b"", headers=[(b"location", location)])


def _unreachable(why: str) -> ApiError:
    return ServiceUnavailable(f"error trying to reach service: {why}")
