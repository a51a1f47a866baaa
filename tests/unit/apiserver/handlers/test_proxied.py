"""What of a request goes on through `/proxy`, and what of the answer comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from apiserver.handlers.bodies import HungUp
from apiserver.handlers.kubelet_peer import Peer
from apiserver.handlers.proxied import Backend, Proxied
from apiserver.outgoing.forwarding import Address
from apiserver.outgoing.outgoing import Outgoing
from apiserver.outgoing.trust import Trust
from kubeloop.apimachinery.errors import ServiceUnavailable

BASE = "/api/v1/namespaces/shop/pods/web/proxy"


class Hello(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"hello"


class Kubelet(httpx.AsyncBaseTransport):
    """Answers everybody the same, and remembers who asked."""

    def __init__(self, *headers: tuple[str, str], status: int = 200) -> None:
        self._headers, self._status = headers, status
        self.asked: list[httpx.Request] = []
        self.pieces: list[bytes] = []  # of the last one's body, as they came

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        assert isinstance(request.stream, httpx.AsyncByteStream)
        self.pieces = [piece async for piece in request.stream]
        return httpx.Response(self._status, headers=list(self._headers), stream=Hello())


def proxied(
    kubelet: Kubelet,
    path: str,
    *headers: tuple[bytes, bytes],
    query: bytes = b"",
    scheme: str = "http",
    says: Sequence[dict[str, Any]] = (),
) -> tuple[int, dict[str, str], bytes]:
    """A request for that path below BASE, whose client says this; status, headers and body of the answer."""
    outgoing = Outgoing(None, lambda context: kubelet)  # type: ignore[arg-type]
    peer = Peer(Address("127.0.0.1:1"), Trust("").over(is_plain=True), "10.0.0.1:10250", "secret")
    backend = Backend(peer, "10.244.0.1:80", scheme, "/podProxy/shop/web/80")
    call: Any = SimpleNamespace(method="POST" if says else "GET", target=SimpleNamespace(tail=path.strip("/")))
    scope = {"path": BASE + path, "query_string": query, "headers": headers, "client": ("10.9.9.9", 1)}
    sent: list[dict[str, Any]] = []
    said = list(says)

    async def receive() -> dict[str, Any]:
        if said:
            return said.pop(0)
        await asyncio.Event().wait()
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Proxied(outgoing, backend, call, asyncio.Event()).relay(scope, receive, send))
    answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:])


def test_a_request_goes_on_without_what_it_says_of_who_asks() -> None:
    """Nor do a web page's marks, which a kubelet would refuse; where it came from stands in headers."""
    kubelet = Kubelet()
    own = ((b"X-Own", b"1"), (b"Authorization", b"Bearer alices"), (b"Impersonate-User", b"bob"), (b"Origin", b"x"))

    status, _, body = proxied(kubelet, "/a b/", *own, (b"X-Forwarded-For", b"10.1.1.1"), query=b"q=%20")

    assert (200, b"hello") == (status, body)
    [request] = kubelet.asked
    assert b"/podProxy/shop/web/80/a%20b/?q=%20" == request.extensions["target"]
    assert ("1", "Bearer secret") == (request.headers["x-own"], request.headers["authorization"])
    assert not {"impersonate-user", "origin"} & set(request.headers)
    assert ("10.1.1.1, 10.9.9.9", f"{BASE}/a%20b/") == (
        request.headers["x-forwarded-for"],
        request.headers["x-forwarded-uri"],
    )


def a_piece(data: bytes, *, is_last: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": not is_last}


@pytest.mark.parametrize(
    ("header", "passed_on"),
    [
        ((b"content-length", b"4000003"), ("content-length", "4000003")),
        ((b"transfer-encoding", b"chunked"), ("transfer-encoding", "chunked")),
    ],
)
def test_a_body_goes_on_piece_by_piece(header: tuple[bytes, bytes], passed_on: tuple[str, str]) -> None:
    """Of any size, and of one that nobody knows before its end: nothing of it is gathered here."""
    kubelet = Kubelet()
    pieces = [b"x" * 2_000_000, b"y" * 2_000_000, b"end"]

    says = [*map(a_piece, pieces[:-1]), a_piece(pieces[-1], is_last=True)]
    status, _, _ = proxied(kubelet, "/upload", header, says=says)

    assert (200, pieces) == (status, kubelet.pieces)
    assert passed_on in kubelet.asked[0].headers.items()


def test_who_goes_before_his_body_is_whole_is_not_answered() -> None:
    with pytest.raises(HungUp):
        proxied(Kubelet(), "/upload", (b"content-length", b"9"), says=[a_piece(b"half"), {"type": "http.disconnect"}])


def test_control_characters_of_a_path_go_on_escaped() -> None:
    """As everything else that a path may not have; they are the backend's to understand."""
    kubelet = Kubelet()

    status, _, _ = proxied(kubelet, "/a\r\nb\x00/")

    assert (200, b"/podProxy/shop/web/80/a%0D%0Ab%00/") == (status, kubelet.asked[0].extensions["target"])


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/login", f"{BASE}/login"),
        (f"{BASE}/login", f"{BASE}/login"),
        ("next", "next"),
        ("https://example.com/", "https://example.com/"),
    ],
)
def test_redirects_lead_through_the_proxy_again(location: str, shown: str) -> None:
    """Those within the backend; the others are its own business."""
    status, headers, _ = proxied(Kubelet(("location", location), status=302), "/page")

    assert (302, shown) == (status, headers["location"])


def test_a_backend_does_not_open_the_api_to_other_pages() -> None:
    """Its CORS headers would be about this server."""
    _, headers, _ = proxied(Kubelet(("access-control-allow-origin", "*"), ("x-kept", "1")), "/page")

    assert "access-control-allow-origin" not in headers and "1" == headers["x-kept"]


def test_nothing_at_all_leads_to_the_root() -> None:
    """With the query; so that relative links work."""
    kubelet = Kubelet()

    status, headers, _ = proxied(kubelet, "", query=b"a=1")

    assert (301, f"{BASE}/?a=1", []) == (status, headers["location"], kubelet.asked)


@pytest.mark.parametrize(
    ("headers", "scheme", "why"),
    [
        ((("kubeloop-unreachable", "i/o timeout"),), "http", "dial tcp 10.244.0.1:80: i/o timeout"),
        ((), "https", "http: server gave HTTP response to HTTPS client"),
    ],
)
def test_what_is_not_reached_is_unavailable(headers: tuple[tuple[str, str], ...], scheme: str, why: str) -> None:
    """In Go's words, with the address that is meant."""
    with pytest.raises(ServiceUnavailable) as refused:
        proxied(Kubelet(*headers), "/", scheme=scheme)

    assert f"error trying to reach service: {why}" == refused.value.message
