"""What Go's net/http says when a call fails: `dial tcp 127.0.0.1:9443: connect: connection refused`.

People search for these texts, so a webhook that cannot be reached is told of in them. Called with an error of httpx,
which wraps those of the socket and of TLS.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterator

_VERIFY = "tls: failed to verify certificate: x509: "
_UNKNOWN_AUTHORITY = frozenset({18, 19, 20, 21})  # self-signed, issuer not found
_OUT_OF_TIME = frozenset({9, 10})
_WRONG_NAME = frozenset({62, 64})  # of a host, of an address
_PLAIN_HTTP = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})


async def as_go_says_it(error: BaseException, address: str, server_name: str) -> str:
    """The text for an error of a call to `address` (HOST:PORT), whose certificate should name `server_name`."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _VERIFY + await _certificate_problem(cause, address, server_name)
        if isinstance(cause, ssl.SSLError):
            return _tls_problem(cause)
        if isinstance(cause, socket.gaierror):
            return f"dial tcp: lookup {address.rpartition(':')[0]}: no such host"
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno:
            return await _socket_problem(cause, address)
    if any(type(cause).__name__ in ("ReadError", "RemoteProtocolError", "EndOfStream") for cause in causes):
        return "EOF"
    return str(error) or type(error).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, groups opened."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        if isinstance(seen, BaseExceptionGroup):
            for one in seen.exceptions:
                yield from _causes(one)
        seen = seen.__cause__ or seen.__context__


async def _socket_problem(error: OSError, address: str) -> str:
    what = os.strerror(error.errno or 0).lower()
    if error.errno in (errno.ECONNRESET, errno.EPIPE):
        return f"read tcp {await _dialled(address)}: read: {what}"
    return f"dial tcp {await _dialled(address)}: connect: {what}"


async def _dialled(address: str) -> str:
    """The address with its host's IP, as Go names it."""
    host, _, port = address.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except OSError:
            return address
        ip = str(found[0][4][0])
        return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    return address


def _tls_problem(error: ssl.SSLError) -> str:
    reason = error.reason or ""
    if reason in _PLAIN_HTTP:
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "EOF"
    if "ALERT" in reason:
        return f"remote error: tls: {reason.partition('ALERT_')[2].replace('_', ' ').lower()}"
    return f"tls: {reason.replace('_', ' ').lower() or error}"


async def _certificate_problem(error: ssl.SSLCertVerificationError, address: str, server_name: str) -> str:
    code = error.verify_code
    if code in _UNKNOWN_AUTHORITY:
        return "certificate signed by unknown authority"
    if code in _OUT_OF_TIME:
        return "certificate has expired or is not yet valid"
    if code in _WRONG_NAME:
        from apiserver.outgoing.peer_names import peer_names

        return (await peer_names(address, server_name)).problem(server_name)
    return error.verify_message
