"""An API server of somebody else's, in the same process: what an APIService leads to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

from kubeloop.testing.transport import InProcessTransport

GROUP, VERSION = "fruit.example.com", "v1"
AGGREGATED = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FRUITS = {"kind": "FruitList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": []}
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [
        {
            "name": "fruits",
            "singularName": "fruit",
            "namespaced": True,
            "kind": "Fruit",
            "verbs": ["get", "list", "watch"],
            "shortNames": ["fr"],
        },
        {"name": "fruits/status", "singularName": "", "namespaced": True, "kind": "Fruit", "verbs": ["get"]},
    ],
}
DISCOVERED = {
    "resource": "fruits",
    "responseKind": {"group": "", "version": "", "kind": "Fruit"},
    "scope": "Namespaced",
    "singularResource": "fruit",
    "verbs": ["get", "list", "watch"],
    "subresources": [
        {"subresource": "status", "responseKind": {"group": "", "version": "", "kind": "Fruit"}, "verbs": ["get"]}
    ],
    "shortNames": ["fr"],
}
OPENAPI = {"openapi": "3.0.0", "info": {"title": "fruit", "version": "1"}, "paths": {}}


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


@dataclass
class Extension:
    """Serves fruits. A watch sends what is put into `events`, until the client hangs up; `hung_up` is set then."""

    asked: list[Asked] = field(default_factory=list)
    events: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    is_down: bool = False
    is_silent: bool = False  # answers nothing, and does not hang up
    status: int = 200  # of discovery
    resources: Any = field(default_factory=lambda: RESOURCES)
    groups: Any = None  # its aggregated discovery, where it has one
    # Path -> status and headers of an answer without a body.
    bare: dict[str, tuple[int, list[tuple[bytes, bytes]]]] = field(default_factory=dict)

    def transport(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        """For `webhook_transports`."""
        return _Transport(self)

    async def app(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        message = await receive()
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"]]
        self.asked.append(Asked(scope["method"], target, headers, message.get("body", b"")))
        if self.is_silent:
            await asyncio.Event().wait()
        if "watch=" in query:
            await self._watch(receive, send)
            return
        if scope["path"] in self.bare:
            status, head = self.bare[scope["path"]]
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return
        status, answer = self._answer(scope["path"])
        content_type = AGGREGATED if scope["path"] == "/apis" else b"application/json"
        head = [(b"content-type", content_type), (b"x-fruit", b"yes"), (b"connection", b"keep-alive")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": orjson.dumps(answer)})

    def _answer(self, path: str) -> tuple[int, Any]:
        if path == "/apis" and self.groups is not None:
            return 200, {"kind": "APIGroupDiscoveryList", "items": self.groups}
        if path == f"/apis/{GROUP}/{VERSION}":
            return self.status, self.resources
        if path == "/openapi/v3":
            url = f"/openapi/v3/apis/{GROUP}/{VERSION}?hash=1"
            return 200, {"paths": {f"apis/{GROUP}/{VERSION}": {"serverRelativeURL": url}}}
        if path.startswith("/openapi/v3/"):
            return 200, OPENAPI
        if path.endswith("/fruits"):
            return 200, FRUITS
        return 404, {"kind": "Status", "code": 404}

    async def _watch(self, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        hang_up = asyncio.ensure_future(receive())
        try:
            while not hang_up.done():
                event = asyncio.ensure_future(self.events.get())
                await asyncio.wait([event, hang_up], return_when=asyncio.FIRST_COMPLETED)
                if event.done():
                    await send({"type": "http.response.body", "body": event.result(), "more_body": True})
        finally:
            self.hung_up.set()
            hang_up.cancel()

    def asked_for(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.target.partition("?")[0] == path]


class _Transport(InProcessTransport):
    def __init__(self, extension: Extension) -> None:
        super().__init__(extension.app)
        self._extension = extension

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.refuse(self._extension.is_down)
        return await super().handle_async_request(request)


def an_api_service(**spec: Any) -> dict[str, Any]:
    """That leads to the Service `fruit` in the namespace default."""
    usual = {
        "group": GROUP,
        "version": VERSION,
        "groupPriorityMinimum": 1500,
        "versionPriority": 15,
        "service": {"namespace": "default", "name": "fruit", "port": 443},
        "insecureSkipTLSVerify": True,
    }
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{VERSION}.{GROUP}"},
        "spec": {**usual, **spec},
    }


def a_service(forward_to: str = "127.0.0.1:9", **spec: Any) -> dict[str, Any]:
    """`forward_to`: "" for a Service that leads to pods."""
    annotations = {"kubeloop.io/forward-to": forward_to} if forward_to else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "fruit", "namespace": "default", "annotations": annotations},
        "spec": {"ports": [{"port": 443}], **spec},
    }
