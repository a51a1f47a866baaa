"""Connections of clients: uvicorn's protocol, which also remembers whose certificate a connection has, and has an end.

ASGI servers do not hand client certificates on, so this takes it from the transport and puts its owner into the scope
of every request. Nor do they mind clients that begin a request and never end it: a connection is closed whose client
takes too long to say what it wants, as Go's server does. `main.py` gives it to uvicorn.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from apiserver.auth.authentication import User
from apiserver.auth.certificates import CERTIFIED, user_of
from apiserver.handlers.kubelets import UPGRADE
from apiserver.handlers.proxied import UNHURRIED

# From the beginning of a connection, or of a request, to the end of the request's headers (Go's ReadHeaderTimeout).
HEADER_SECONDS = 32.0
# From there to the end of its body: longer than a request may take, which is told so before.
BODY_SECONDS = 90.0
# What a client may say before it is told that its connection has become something else; then it has to wait.
MAX_EARLY_BYTES = 64 * 1024


class ClientConnection(HttpToolsProtocol):
    """One connection of a client."""

    _certified: User | None = None
    # How long the client has for what it is at: nothing while it waits for an answer, or has none to ask for.
    _allowed_seconds: float | None = HEADER_SECONDS
    _timed_seconds: float | None = None  # what the timer was set to
    _timer: asyncio.TimerHandle | None = None
    _received = b""  # what is being read
    # Of a request for an upgrade: what came after its head belongs to whoever takes the connection over.
    _early: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_timer()
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._certified = user_of(tls.getpeercert(), tls.getpeercert(binary_form=True))

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early += data
            if len(self._early) > MAX_EARLY_BYTES:
                self.transport.pause_reading()
            return
        self._received = data
        super().data_received(data)
        self._received = b""
        if self._allowed_seconds is not self._timed_seconds:  # a request that came in one piece sets no timer
            self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._allowed_seconds = None
        self._set_timer()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._allowed_seconds = BODY_SECONDS
        if self.scope["method"] != "GET":
            self.scope[UNHURRIED] = self.wait_for_body  # type: ignore[literal-required]
        if self.parser.should_upgrade() and self._is_taken_over():
            self.scope[UPGRADE] = self.take_over  # type: ignore[literal-required]

    def wait_for_body(self) -> None:
        """For as long as it takes: it goes on to somebody else, who may be slow."""
        if self._allowed_seconds is not None:
            self._allowed_seconds = None
            self._set_timer()

    def _is_taken_over(self) -> bool:
        """Anything else that a client would rather speak (h2c) is not meant for a kubelet."""
        upgrade = self._get_upgrade() or b""
        return upgrade == b"websocket" or upgrade.startswith(b"spdy/")

    def _unsupported_upgrade_warning(self) -> None:
        """Called by uvicorn where the bytes of HTTP end; the rest is kept."""
        stopped_at = sys.exc_info()[1]
        if self._is_taken_over() and isinstance(stopped_at, httptools.HttpParserUpgrade):
            self._early = self._received[stopped_at.args[0] :]

    def take_over(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection itself, for an answer that is no HTTP. uvicorn has nothing more to do with it."""
        self.cycle.disconnected = True
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        self._allowed_seconds = None
        self._set_timer()
        reader = asyncio.StreamReader(loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        self.transport.resume_reading()
        reader.feed_data(self._early or b"")
        return reader, asyncio.StreamWriter(self.transport, protocol, reader, self.loop)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._allowed_seconds = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timed_seconds = seconds = self._allowed_seconds
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._allowed_seconds = HEADER_SECONDS
        if self._certified is not None:
            self.scope[CERTIFIED] = self._certified  # type: ignore[literal-required]


def check_files(certificate: Path, key: Path, client_ca: Path | None) -> None:
    """Raises OSError (ssl.SSLError is one) where the server could not speak TLS with these."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
