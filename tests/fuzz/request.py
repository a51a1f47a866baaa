"""A request of the fuzzer's: its bytes, and what a server may do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ADMIN = b"Bearer admintoken"


@dataclass(frozen=True, slots=True)
class Request:
    """`is_http`: well-formed enough that it must be answered; else the connection may be closed instead.

    `is_cut`: the client ends its half of the connection after it. `is_api`: the path is one of a served resource.
    """

    family: str
    raw: bytes
    is_http: bool = True
    is_cut: bool = False
    is_api: bool = True

    @property
    def is_alone(self) -> bool:
        """Whether nothing may follow it on its connection: it may stream, or spoil the connection."""
        return self.is_cut or not self.is_http or b"atch" in self.line or b"follow" in self.line

    @property
    def line(self) -> bytes:
        return self.raw.partition(b"\n")[0]

    @property
    def is_head(self) -> bool:
        return self.raw.startswith(b"HEAD ")


def http(
    method: str,
    path: str,
    headers: Sequence[tuple[bytes, bytes]] = (),
    body: bytes | None = None,
    *,
    host: bytes = b"127.0.0.1",
    authorization: bytes = ADMIN,
    version: bytes = b"HTTP/1.1",
) -> bytes:
    """One whole request."""
    lines = [b"%b %b %b" % (method.encode(), path.encode("utf-8", "surrogatepass"), version), b"Host: " + host]
    if authorization:
        lines.append(b"Authorization: " + authorization)
    lines += [b"%b: %b" % header for header in headers]
    if body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")
