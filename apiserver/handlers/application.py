"""The ASGI application: the API's own paths go straight to KubernetesApi, everything else through FastAPI.

What an aggregated API server answers for goes to that one (`proxying.py`). All go through the gate first: KubernetesApi
by itself, so that its metrics count refusals, so the proxy, the others here.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response as HttpResponse
from starlette.exceptions import HTTPException

from apiserver.auth.certificates import CERTIFIED
from apiserver.auth.gate import PASSAGE, Gate
from apiserver.handlers.api import KubernetesApi
from apiserver.handlers.health import Health
from apiserver.handlers.metrics import Metrics
from apiserver.handlers.openapi import OpenApiDocuments
from apiserver.handlers.pretty import pretty, wants_pretty
from apiserver.handlers.proxying import Proxy
from apiserver.handlers.request import has_bad_escape, parse_query
from apiserver.handlers.response import NOT_FOUND_TEXT, NOT_KEPT, TEXT, Receive, Response, Scope, Send, error_response
from apiserver.handlers.system import add_routes, http_response
from apiserver.registry.catalog import Catalog
from kubeloop.apimachinery.errors import ApiError, Forbidden, MethodNotAllowed
from kubeloop.apimachinery.forwarding import is_this_machine

_READS = ("GET", "HEAD", "OPTIONS")
# What Go says to a path it cannot read, before anybody looks at the request.
_NO_URL = Response(400, b"400 Bad Request", TEXT, [(b"connection", b"close")])


class Application(FastAPI):
    """FastAPI with the Kubernetes API in front of it."""

    def __init__(
        self,
        api: KubernetesApi,
        gate: Gate,
        release: str,
        catalog: Catalog,
        openapi: OpenApiDocuments,
        metrics: Metrics,
        health: Health,
        proxy: Proxy,
    ) -> None:
        super().__init__(title="kubeloop", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
        self._api, self._gate, self._proxy = api, gate, proxy
        add_routes(self, release, catalog, openapi, metrics, health)
        self.add_exception_handler(HTTPException, _as_kubernetes_says_it)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif b"%" in (path := scope.get("raw_path", b"")) and has_bad_escape(path.decode("latin-1")):
            await _NO_URL.send(send)
        elif scope.get("scheme") != "https" and not _is_local(_host(scope)):
            await _refuse_host(_host(scope)).send(send)
        elif scope.get("scheme") != "https" and (page := _foreign_page(scope)):
            await _refuse_page(page).send(send)
        elif scope["path"].startswith(("/api/", "/apis/")) or scope["path"] in ("/api", "/apis"):
            others = self._proxy.aggregated
            if others.remotes and (remote := others.remote(scope["path"])) is not None:
                await self._proxy(remote, scope, receive, send)
            else:
                await self._api(scope, receive, send)
        elif (refusal := self._refusal(scope)) is not None:
            await _for_reader(error_response(refusal), scope).send(send)
        else:
            await super().__call__(scope, receive, _not_kept(send))

    def _refusal(self, scope: Scope) -> ApiError | None:
        try:
            query = parse_query(scope["query_string"])
            certified, passage = scope.get(CERTIFIED), scope.get(PASSAGE)
            self._gate.admit(scope["method"], scope["path"], query, scope["headers"], certified, passage)
        except ApiError as error:
            return error
        return None


async def _as_kubernetes_says_it(request: Request, error: Exception) -> HttpResponse:
    if isinstance(error, HTTPException) and error.status_code == 405:
        refusal = MethodNotAllowed("the server does not allow this method on the requested resource", details={})
        return http_response(_for_reader(error_response(refusal), request.scope))
    return http_response(NOT_FOUND_TEXT)


def _for_reader(response: Response, scope: Scope) -> Response:
    return pretty(response) if wants_pretty(scope) else response


def _not_kept(send: Send) -> Send:
    """Answers of FastAPI's routes say like all others whether they may be kept."""

    async def say(message: MutableMapping[str, Any]) -> None:
        headers = message.get("headers")
        if headers is not None and all(name != NOT_KEPT[0] for name, _ in headers):
            message["headers"] = [*headers, NOT_KEPT]
        await send(message)

    return say


def _host(scope: Scope) -> str:
    """The Host header without its port; "" where there is none (HTTP/1.0 on loopback)."""
    host = _header(scope, b"host")
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _header(scope: Scope, wanted: bytes) -> str:
    """In lower case; "" where there is none."""
    for name, value in scope["headers"]:
        if name == wanted:
            text: str = value.decode("latin-1").lower()
            return text
    return ""


def _foreign_page(scope: Scope) -> str:
    """The web page of another site that sends this write; "" for everybody else.

    A browser lets any page send a POST with a body and without a Content-Type, asking nobody; but it says from where.
    What a page has sent to its own site, which handed it on (a dashboard), is that site's.
    """
    if scope["method"] in _READS or not (origin := _header(scope, b"origin")):
        return ""
    if _header(scope, b"sec-fetch-site") == "same-origin":
        return ""
    return origin if origin.partition("://")[2] != _header(scope, b"host") else ""


# A web page that rebinds its own name to 127.0.0.1 did not mean this machine. Only asked of plain HTTP: over TLS the
# certificate says whose name this is.
_is_local = lru_cache(256)(is_this_machine)


def _refuse_host(host: str) -> Response:
    return error_response(Forbidden(f'the Host header names "{host}", this server answers to localhost and addresses'))


def _refuse_page(origin: str) -> Response:
    return error_response(Forbidden(f'the Origin header names "{origin}": web pages of others may not write here'))
