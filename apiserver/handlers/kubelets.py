"""Calls that a kubelet answers: found by what its node says, asked in this server's name, the answer handed on.

Whoever asks has been authenticated and authorized; the kubelet knows this server by its certificate or token. Words and
codes are those of registry/generic/rest/streamer.go, response_checker.go and apimachinery/util/proxy (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

from apiserver.handlers.call import Call
from apiserver.handlers.kubelet_peer import Peer
from apiserver.handlers.proxied import Backend, Proxied
from apiserver.handlers.relaying import Exchange, exchanged
from apiserver.handlers.response import Receive, Response, Scope, Send
from apiserver.outgoing.errors import CallError
from apiserver.outgoing.forwarding import Address, ForwardError, forwarded
from apiserver.outgoing.outgoing import Outgoing
from apiserver.outgoing.trust import Trust
from apiserver.outgoing.upgrade import Streams, joined, upgraded
from apiserver.registry.options import Query
from kubeloop.apimachinery.errors import ApiError, BadRequest, Forbidden, InternalError, NotFound, ServiceUnavailable
from kubeloop.apimachinery.forwarding import (
    DEFAULT_KUBELET_PORT,
    NODE_HEADER,
    UNREACHABLE_HEADER,
    kubelet_port_here,
)
from kubeloop.apimachinery.meta import ReadOnlyObject

# In the scope of a request that asks for an upgrade: takes the client's connection over (connections.py).
UPGRADE = "kubeloop.upgrade"
TakeOver = Callable[[], Streams]

MAX_REFUSAL_BYTES = 50_000
_LOG_OPTIONS = ("follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes")
# Headers of an upgrade that are about the two ends, and about nothing between them.
_HANDED_ON = ("sec-websocket-", "x-stream-protocol-version", "upgrade", "user-agent")


class Relayed(Protocol):
    """An answer that takes its time: it is sent as it comes."""

    async def relay(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ApiError or HungUp, before anything was sent."""
        ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """What kubelets know this server by, and it them: a token over plain HTTP, certificates over TLS."""

    token: str = ""
    certificate: tuple[str, str] | None = None  # files of a certificate and its key
    ca_bundle: str = ""  # base64 of PEM: who signs the certificates of kubelets


class Kubelets:
    def __init__(self, outgoing: Outgoing, credentials: Credentials) -> None:
        self._outgoing, self._credentials = outgoing, credentials
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the answers that go on for ever."""
        self._stopping.set()

    def log(self, call: Call, pod: ReadOnlyObject, node: ReadOnlyObject, container: str) -> Relayed:
        options = [(name, value) for name in _LOG_OPTIONS for value in call.query.get(name, ())[:1] if value]
        path = f"/containerLogs/{_path(pod)}/{container}?{urlencode(options)}"
        return _Log(self._outgoing, self._peer(node), path, call, self._stopping)

    def connection(self, call: Call, pod: ReadOnlyObject, node: ReadOnlyObject, path: str, query: Query) -> Relayed:
        """`path`: what the kubelet calls it, with the container's name where there is one."""
        target = f"/{path}?{urlencode(query, doseq=True)}"
        return _Connection(self._peer(node), target, call, self._stopping)

    def of_node(self, call: Call, node: ReadOnlyObject, scheme: str, port: str) -> Relayed:
        """What the kubelet itself answers to the rest of a proxy's path. On other ports of a node nobody listens."""
        peer = self._peer(node)
        if port and port not in (str(DEFAULT_KUBELET_PORT), peer.shown.rpartition(":")[2]):
            shown = f"{peer.shown.rpartition(':')[0]}:{port}"
            backend = Backend(Peer(None, Trust(""), shown), shown, scheme)
        else:
            headers = ((NODE_HEADER.encode(), node["metadata"]["name"].encode()),)
            backend = Backend(peer, peer.shown, headers=headers)
        return Proxied(self._outgoing, backend, call, self._stopping)

    def of_pod(self, call: Call, pod: ReadOnlyObject, node: ReadOnlyObject | None, scheme: str, port: str) -> Relayed:
        """What a port of the pod answers. `scheme`, `port`: "" where none is asked for."""
        ip = pod["status"]["podIP"]
        number = _WELL_KNOWN_PORTS.get(port or scheme or "http", port)
        if not number.isdecimal() or not number.isascii():
            raise ServiceUnavailable(f"error trying to reach service: dial tcp: lookup tcp/{number}: unknown port")
        shown = f"[{ip}]:{number}" if ":" in ip else f"{ip}:{number}"
        is_simulated = node is not None and kubelet_port_here(node) is not None
        peer = self._peer(node) if node is not None and is_simulated else Peer(None, Trust(""), shown)
        prefix = f"/podProxy/{_path(pod)}/{number}"
        return Proxied(self._outgoing, Backend(peer, shown, scheme or "http", prefix), call, self._stopping)

    def _peer(self, node: ReadOnlyObject) -> Peer:
        shown = _node_address(node)
        try:
            address = forwarded(node, "node") or self._on_this_machine(node)
        except ForwardError as error:
            raise InternalError.because(str(error)) from error
        if address is None:
            return Peer(None, Trust(""), shown)
        known = self._credentials
        trust = Trust(address.host, known.ca_bundle, client_certificate=known.certificate)
        return Peer(address, trust.over(address.is_plain), shown, known.token if address.is_plain else "")

    def _on_this_machine(self, node: ReadOnlyObject) -> Address | None:
        port = kubelet_port_here(node)
        return Address(f"127.0.0.1:{port}", is_plain=self._credentials.certificate is None) if port else None


@dataclass(frozen=True, slots=True)
class _Log:
    outgoing: Outgoing
    peer: Peer
    path: str
    call: Call
    stopping: asyncio.Event

    async def relay(self, scope: Scope, receive: Receive, send: Send) -> None:
        url = f"https://{self.peer.shown}{self.path}"
        if self.peer.address is None:
            raise ApiError(f'Get "{url}": {self.peer.unreachable}')
        async with exchanged(send, receive, self.stopping, lambda error: ApiError(str(error))) as exchange:
            await self._answered(url, self.peer.address, exchange)

    async def _answered(self, url: str, address: Address, exchange: Exchange) -> None:
        answered = self.outgoing.connections.answered("GET", url, address.host_port, self.peer.trust, self.peer.headers)
        async with answered as response:
            if why := response.headers.get(UNREACHABLE_HEADER):
                raise ApiError(f'Get "{url}": dial tcp {self.peer.shown}: {why}')
            if response.status_code >= 300:
                from apiserver.outgoing.connections import whole_body  # with httpx, which is loaded by now

                text = (await whole_body(response, MAX_REFUSAL_BYTES)).decode("utf-8", "replace")
                raise _refusal(response.status_code, text, self.call.target.name)
            await exchange.begin(response.status_code, [(b"content-type", b"text/plain")])
            await exchange.go_on(b"")
            async for chunk in response.aiter_raw():
                await exchange.go_on(chunk)


@dataclass(frozen=True, slots=True)
class _Connection:
    peer: Peer
    target: str
    call: Call
    stopping: asyncio.Event

    async def relay(self, scope: Scope, receive: Receive, send: Send) -> None:
        take_over: TakeOver | None = scope.get(UPGRADE)
        if take_over is None:
            raise BadRequest("Upgrade request required")
        _refuse_web_pages(self.call.headers)
        if self.peer.address is None:
            raise ApiError(f"error dialing backend: {self.peer.unreachable}")
        headers = [*self.peer.headers, (b"connection", b"Upgrade"), *_of_upgrade(scope["headers"])]
        try:
            peer, method = self.peer, self.call.method
            async with upgraded(self.peer.address, peer.trust, method, self.target, headers) as answer:
                if why := answer.fields.get(UNREACHABLE_HEADER):
                    raise ApiError(f"error dialing backend: dial tcp {self.peer.shown}: {why}")
                if answer.status != 101:
                    await Response(answer.status, answer.body, answer.content_type).send(send)
                    return
                client = take_over()
                client[1].write(answer.head)
                await send({"type": "http.response.start", "status": 101, "headers": []})  # for the audit log
                await joined(client, answer.streams, self.stopping)
        except CallError as error:
            raise ApiError(str(error)) from error


def _of_upgrade(headers: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers:
        if name.decode("latin-1").startswith(_HANDED_ON):
            yield name, value


def _refuse_web_pages(headers: Mapping[bytes, bytes]) -> None:
    """A page of another site may open a WebSocket to this one, and a browser asks nobody: it says where it is from."""
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if origin and origin.partition("://")[2] != host:
        raise Forbidden(f'the Origin header names "{origin}": web pages of others may not connect to pods', details={})


def _path(pod: ReadOnlyObject) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _node_address(node: ReadOnlyObject) -> str:
    """HOST:PORT of the kubelet by the status of its node."""
    status = node.get("status") or {}
    known = {one["type"]: one["address"] for one in status.get("addresses") or ()}
    found = next((known[kind] for kind in _ADDRESS_TYPES if kind in known), "")
    if not found:
        types = " ".join(_ADDRESS_TYPES)
        raise ApiError(f"no preferred addresses found; known addresses: {list(known)}; preferred: [{types}]")
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or DEFAULT_KUBELET_PORT
    return f"[{found}]:{port}" if ":" in found else f"{found}:{port}"


_WELL_KNOWN_PORTS = {"http": "80", "https": "443"}  # of those that Go would look up, what anybody asks for
_ADDRESS_TYPES = ("InternalIP", "ExternalIP", "Hostname")  # as kubeadm prefers them


def _refusal(code: int, text: str, name: str) -> ApiError:
    """What becomes of a kubelet's refusal of a log (NewGenericServerResponse)."""
    if code == 400:
        return BadRequest(text)
    if code == 500:
        return InternalError.because(text)
    about = f" ( pods/log {name})"
    details = {"name": name, "kind": "pods/log"}
    if code == 404:
        return NotFound(f"the server could not find the requested resource{about}", details=details)
    if code in (401, 403):
        reason = "Unauthorized" if code == 401 else "Forbidden"
        said = "the server has asked for the client to provide credentials" if code == 401 else text
        return ApiError(f"{said}{about}", code=code, reason=reason, details=details)
    said = f"the server responded with the status code {code} but did not return more information"
    return ApiError(f"{said}{about}", code=code, details=details)
