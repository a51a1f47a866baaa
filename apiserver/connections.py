"""Connections of clients: uvicorn's protocol, which also remembers whose certificate a connection has.

ASGI servers do not hand client certificates on, so this takes it from the transport and puts its owner into the scope
of every request. `main.py` gives it to uvicorn.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from apiserver.auth.authentication import User
from apiserver.auth.certificates import CERTIFIED, user_of


class ClientConnection(HttpToolsProtocol):
    """One connection of a client."""

    _certified: User | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._certified = user_of(tls.getpeercert(), tls.getpeercert(binary_form=True))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._certified is not None:
            self.scope[CERTIFIED] = self._certified  # type: ignore[literal-required]


def check_files(certificate: Path, key: Path, client_ca: Path | None) -> None:
    """Raises OSError (ssl.SSLError is one) where the server could not speak TLS with these."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
