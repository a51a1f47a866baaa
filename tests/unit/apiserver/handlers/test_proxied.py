"""What of a request goes on through `/proxy`, and what of the answer comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

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

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return httpx.Response(self._status, headers=list(self._headers), stream=Hello())


def proxied(
    kubelet: Kubelet, path: str, *headers: tuple[bytes, bytes], query: bytes = b"", scheme: str = "http"
) -> tuple[int, dict[str, str], bytes]:
    """A GET of that path below BASE; status, headers and body of the answer."""
    outgoing = Outgoing(None, lambda context: kubelet)  # type: ignore[arg-type]
    peer = Peer(Address("127.0.0.1:1"), Trust("").over(is_plain=True), "10.0.0.1:10250", "secret")
    backend = Backend(peer, "10.244.0.1:80", scheme, "/podProxy/shop/web/80")
    target = SimpleNamespace(tail=path.strip("/"))
    call: Any = SimpleNamespace(method="GET", target=target, body=SimpleNamespace(raw=b""))
    scope = {"path": BASE + path, "query_string": query, "headers": headers, "client": ("10.9.9.9", 1)}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
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
