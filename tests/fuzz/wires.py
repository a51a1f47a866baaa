"""What is hardly HTTP: broken request lines, headers, chunks, and clients that hang up half-way."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.request import ADMIN, Request, http

_HEAD = b"Host: 127.0.0.1\r\nAuthorization: " + ADMIN + b"\r\n"
_LINES = (
    b"GET", b"GET /api", b"GET  /api HTTP/1.1", b" GET /api HTTP/1.1", b"GET /api HTTP/9.9", b"GET /api HTTP/1.1 x", b"GET /api http/1.1", b"GET api HTTP/1.1", b"get /api HTTP/1.1", b"G\x00T /api HTTP/1.1", b"\xff\xfe / HTTP/1.1",
    b"CONNECT 127.0.0.1:1 HTTP/1.1", b"PRI * HTTP/2.0", b"GET /api\x00 HTTP/1.1", b"GET /a b HTTP/1.1", b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET /" + b"a" * 100_000 + b" HTTP/1.1", b"POST /api/v1/namespaces HTTP/1.1",
)  # fmt: skip
_HEADERS = (
    b"Content-Length: x", b"Content-Length: -1", b"Content-Length: 1\r\nContent-Length: 2", b"Content-Length: 99999999999999999999", b"Content-Length: 9999999999", b"Content-Length: ", b"Content-Length: 1, 1", b"Transfer-Encoding: x", b"Transfer-Encoding: chunked, x",
    b"Transfer-Encoding: chunked\r\nContent-Length: 3", b": x", b"a", b"a b: c", b" folded: x", b"a\x00: b", b"a: \x00", b"a: b\nc: d", b"\xff: \xff", b"Host: a\r\nHost: b", b"Connection: upgrade\r\nUpgrade: websocket", b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk",
    b"Expect: 100-continue\r\nContent-Length: 2", b"Expect: x", b"X: " + b"y" * 200_000, b"\r\n".join(b"X-%d: y" % i for i in range(3000)),
)  # fmt: skip
_CHUNKS = (
    b"2\r\n{}\r\n0\r\n\r\n",
    b"x\r\n{}\r\n0\r\n\r\n",
    b"-1\r\n{}\r\n",
    b"fffffffffffffffff\r\n{}",
    b"2\r\n{}0\r\n\r\n",
    b"2;a=b\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    b"5\r\n{}\r\n0\r\n\r\n",
    b"0\r\n\r\n",
    b"2\r\n{",
    b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
)


def broken(rng: random.Random, path: str, body: bytes) -> Request:
    make: Callable[[random.Random, str, bytes], bytes] = rng.choice(
        (_line, _header, _chunked, _cut, _short, _old, _more, _noise)
    )
    return Request("wire", make(rng, path, body), is_http=False, is_cut=True, is_api=False)


def _line(rng: random.Random, path: str, body: bytes) -> bytes:
    return rng.choice(_LINES) + rng.choice((b"\r\n", b"\n", b"\r")) + _HEAD + b"\r\n"


def _header(rng: random.Random, path: str, body: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\n%b%b\r\n\r\n{}" % (path.encode(), _HEAD, rng.choice(_HEADERS))


def _chunked(rng: random.Random, path: str, body: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n%b" % (path.encode(), _HEAD, rng.choice(_CHUNKS))


def _cut(rng: random.Random, path: str, body: bytes) -> bytes:
    """The client ends in the middle."""
    whole = http("POST", path, [(b"Content-Type", b"application/json")], body)
    return whole[: rng.randrange(len(whole))]


def _short(rng: random.Random, path: str, body: bytes) -> bytes:
    """Less of a body than promised."""
    return b"PUT %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode(), _HEAD, len(body) + 10, body)


def _old(rng: random.Random, path: str, body: bytes) -> bytes:
    return rng.choice((
        b"GET %b HTTP/1.0\r\nAuthorization: %b\r\n\r\n" % (path.encode(), ADMIN),
        b"GET %b\r\n" % path.encode(),
        b"POST %b HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body),
        b"GET %b?watch=1 HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: %b\r\n\r\n" % (path.encode(), ADMIN),
    ))  # fmt: skip


def _more(rng: random.Random, path: str, body: bytes) -> bytes:
    """Another request where none should be, or junk behind one."""
    return http("GET", path) + rng.choice(
        (b"x", b"\r\n\r\n\r\n", body, http("POST", path, [], body)[:-1], b"\x00" * 100)
    )


def _noise(rng: random.Random, path: str, body: bytes) -> bytes:
    return rng.randbytes(rng.choice((1, 10, 1000, 70_000)))
