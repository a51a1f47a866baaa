"""Calls to aggregated API servers, which learn from headers who asks: this server has authenticated and authorized him.

Facts: kube-aggregator's handler_proxy.go and client-go/transport (SetAuthProxyHeaders), v1.36.
"""

from __future__ import annotations

import asyncio
import string
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple

from apiserver.aggregation.remote import Remote
from apiserver.auth.authentication import MASTERS, User
from apiserver.outgoing.errors import CallError
from apiserver.outgoing.outgoing import Outgoing
from kubeloop.apimachinery.field import go_quote

if TYPE_CHECKING:
    import httpx

RawHeaders = Sequence[tuple[bytes, bytes]]

# Who this server is when it asks for itself; an administrator, so that it is never refused.
AGGREGATOR = User("system:kube-aggregator", groups=(MASTERS,))
# Documents of APIs with hundreds of kinds are large; what is larger still is refused.
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
TIMEOUT_SECONDS = 5.0

_USER, _UID, _GROUP, _EXTRA = b"x-remote-user", b"x-remote-uid", b"x-remote-group", b"x-remote-extra-"
_AS_IT_IS = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")


class Answer(NamedTuple):
    status: int
    content_type: str
    etag: str
    body: bytes


class Calls:
    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing

    def answered(
        self, remote: Remote, method: str, target: str, headers: RawHeaders, body: bytes = b""
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """The answer, its body still to be read. ServiceError where the Service leads nowhere, CallError later on.

        `target` is the path with its query; `headers` say who asks (`identity`).
        """
        address = self._outgoing.resolver.resolve(remote.namespace, remote.service, remote.port)
        trust = remote.trust.over(address.is_plain)
        scheme = "http" if address.is_plain else "https"
        shown = f"{scheme}://{address.host_port}{target}"
        return self._outgoing.connections.answered(
            method, shown, address.host_port, trust, headers, body, target.encode()
        )

    def url(self, remote: Remote, target: str) -> str:
        """As errors name it. ServiceError as above."""
        address = self._outgoing.resolver.resolve(remote.namespace, remote.service, remote.port)
        return f"{'http' if address.is_plain else 'https'}://{address.host_port}{target}"

    async def get(self, remote: Remote, target: str, accept: str = "*/*", etag: str = "") -> Answer:
        """The whole answer to this server's own question; ServiceError or CallError where there is none in time."""
        from apiserver.outgoing.connections import whole_body  # with httpx, which takes a while to load

        headers = [(b"accept", accept.encode()), (b"user-agent", b"kube-aggregator"), *identity(AGGREGATOR)]
        if etag:
            headers.append((b"if-none-match", etag.encode("latin-1")))
        call = self.answered(remote, "GET", target, headers)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS), call as response:
                return Answer(
                    response.status_code,
                    response.headers.get("content-type", ""),
                    response.headers.get("etag", ""),
                    await whole_body(response, MAX_DOCUMENT_BYTES),
                )
        except TimeoutError as error:
            raise CallError(f"Get {go_quote(self.url(remote, target))}: context deadline exceeded") from error


def identity(user: User) -> list[tuple[bytes, bytes]]:
    """The headers that tell who asks."""
    headers = [(_USER, user.name.encode())]
    if user.uid:
        headers.append((_UID, user.uid.encode()))
    headers += ((_GROUP, group.encode()) for group in user.groups)
    for key, values in user.extra.items():
        headers += ((_EXTRA + _escaped(key), value.encode()) for value in values)
    return headers


def is_identity(name: bytes) -> bool:
    """Whether a header (in lower case) claims to say who asks."""
    return name in (_USER, _UID, _GROUP) or name.startswith(_EXTRA)


def _escaped(key: str) -> bytes:
    """As the name of a header; `/` becomes `%2F`."""
    return "".join(chr(b) if chr(b) in _AS_IT_IS else f"%{b:02X}" for b in key.encode()).encode()
