"""Calls webhooks: sends a review by POST and gives back the one that comes in answer.

    review = await client.post(webhook["clientConfig"], review, timeout_seconds=10)

Admission webhooks and the conversion webhooks of CRDs go through here. Nobody is called but who a configuration names.
Facts: k8s.io/apiserver/pkg/util/webhook/client.go and client-go/rest/request.go (v1.36).
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from apiserver.outgoing.errors import CallError, UnusableTrust
from apiserver.outgoing.forwarding import Address
from apiserver.outgoing.outgoing import Outgoing
from apiserver.outgoing.services import ServiceError
from apiserver.outgoing.trust import Trust
from apiserver.webhooks.answers import HttpAnswer, read_review
from apiserver.webhooks.errors import UnusableClient, WebhookError
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULT_PORT = 443
# Lists of custom resources are converted in one call, so an answer may be large; one larger than this is refused.
MAX_ANSWER_BYTES = 64 * 1024 * 1024

_HEADERS = {
    "accept": "application/json, */*",
    "accept-encoding": "gzip",
    "content-type": "application/json",
    "user-agent": "kube-apiserver-admission",
}


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a call goes: `authority` is who is meant, `address` who is dialled (None: still to be found)."""

    authority: str
    path: str
    server_name: str  # whose certificate it must be
    address: Address | None = None


class WebhookClient:
    """Makes the calls; connections are kept and shared by all webhooks with the same address and CA bundle."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing

    async def post(self, config: Json, review: Json, timeout_seconds: float) -> Object:
        """The review a webhook answers with; WebhookError where there is none in time.

        `config` is a clientConfig (url or service, caBundle). The answer is of `review`'s own kind and version, or says
        neither; everything else about it is the caller's to check.
        """
        target = _target(config)
        shown = f"https://{target.authority}{target.path}?timeout={_whole_seconds(timeout_seconds)}s"
        try:
            address = target.address or self._address(config)
        except ServiceError as error:
            raise WebhookError(f"Post {go_quote(shown)}: {error}") from error
        trust = Trust(target.server_name, config.get("caBundle") or "", is_plain=address.is_plain)
        headers = {"host": target.authority, **_HEADERS}
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._answer(shown, address.host_port, trust, headers, orjson.dumps(review))
        except TimeoutError as error:
            raise WebhookError(f"Post {go_quote(shown)}: context deadline exceeded") from error
        except UnusableTrust as error:
            raise UnusableClient(str(error)) from error
        except CallError as error:
            raise WebhookError(str(error)) from error
        return read_review(answer, review)

    async def _answer(self, shown: str, address: str, trust: Trust, headers: Json, body: bytes) -> HttpAnswer:
        from apiserver.outgoing.connections import whole_body  # with httpx, which takes a while to load

        async with self._outgoing.connections.answered("POST", shown, address, trust, headers, body) as response:
            content_type = response.headers.get("content-type", "")
            return HttpAnswer(response.status_code, content_type, await whole_body(response, MAX_ANSWER_BYTES))

    def _address(self, config: Json) -> Address:
        service = config["service"]
        return self._outgoing.resolver.resolve(
            service["namespace"], service["name"], service.get("port") or DEFAULT_PORT
        )


def _target(config: Json) -> _Target:
    service = config.get("service")
    if service is not None:
        host = f"{service['name']}.{service['namespace']}.svc"
        authority = f"{host}:{service.get('port') or DEFAULT_PORT}"
        return _Target(authority, _path(service.get("path") or ""), host)
    if not config.get("url"):
        raise UnusableClient("webhook configuration must have either service or URL")
    try:
        parts = urlsplit(config["url"])
        host, port = parts.hostname or "", parts.port or DEFAULT_PORT
    except ValueError as error:
        raise UnusableClient(f"Unparsable URL: {error}") from error
    authority = parts.netloc
    if not authority.isascii():
        host = _in_ascii(host)
        authority = f"{host}:{parts.port}" if parts.port else host
    bracketed = f"[{host}]" if ":" in host else host
    return _Target(authority, _path(parts.path), host, Address(f"{bracketed}:{port}"))


def _in_ascii(host: str) -> str:
    """The name under which DNS and certificates know a host."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise WebhookError(f"dial tcp: lookup {host}: no such host") from error


def _path(path: str) -> str:
    """As Go's path.Join has it: one slash at the start, none at the end."""
    return "/" + posixpath.normpath("/" + path.lstrip("/")).lstrip("/")


def _whole_seconds(seconds: float) -> int:
    return max(1, -int(-seconds // 1))
