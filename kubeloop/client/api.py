"""Speaking to an API server: one method a verb, objects as JSON dicts, refusals as `ApiError`s.

Called by every loop (through kubeloop.runtime), the node simulator and the CLI. Nothing is retried here: a caller that
backs off knows better what a second attempt means. Watching for ever is the reflector's work, not this class'.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

import orjson

from kubeloop.apimachinery.errors import from_status
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.connections import Connections
from kubeloop.client.transport import ConnectionFailed, HttpxTransport, Request, Response, Transport
from kubeloop.client.watching import WatchEvent, as_expired, decode_events

if TYPE_CHECKING:
    import httpx

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

# Longer than any admission webhook may take (30 s).
REQUEST_TIMEOUT_SECONDS = 60.0


class Api:
    """A client of one API server. Safe for any number of concurrent tasks of one event loop.

    `transport` replaces the sockets: an httpx transport, or one of our own kind.
    """

    def __init__(
        self,
        base_url: str,
        transport: Transport | httpx.AsyncBaseTransport | None = None,
        token: str = "",
        user_agent: str = "kubeloop",
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._transport = _adapted(self.base_url, transport)
        self._headers = {"Accept": "application/json", "User-Agent": user_agent}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def get(self, resource: Resource, name: str, namespace: str = "", subresource: str = "") -> Object:
        return await self.request("GET", _path(resource, namespace, name, subresource))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Object:
        """One page of a list; items get the kind and apiVersion that the server leaves out of built-in ones."""
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "limit": limit,
            "continue": continue_token,
            "resourceVersion": resource_version,
        }
        page = await self.request("GET", _path(resource, namespace), query=query)
        kind, api_version = resource.kind, resource.api_version
        items = page.get("items") or []
        for item in items:
            item.setdefault("kind", kind)
            item.setdefault("apiVersion", api_version)
        page["items"] = items
        return page

    async def create(
        self,
        resource: Resource,
        obj: ReadOnlyObject,
        namespace: str = "",
        *,
        subresource: str = "",
        name: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        """POST; `name` and `subresource` address what a subresource hangs on (a pod's binding)."""
        path = _path(resource, namespace or namespace_of(obj), name, subresource)
        return await self.request("POST", path, query=_write_options(field_manager, dry_run), body=obj)

    async def update(
        self,
        resource: Resource,
        obj: ReadOnlyObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        """PUT to where the object's own namespace and name say."""
        path = _path(resource, namespace_of(obj), name_of(obj), subresource)
        return await self.request("PUT", path, query=_write_options(field_manager, dry_run), body=obj)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: str = MERGE,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Object:
        query = _write_options(field_manager, dry_run)
        if force:
            query["force"] = "true"
        path = _path(resource, namespace, name, subresource)
        return await self.request("PATCH", path, query=query, body=patch, content_type=patch_type)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        propagation_policy: str = "",
        grace_period_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
    ) -> Object:
        """DELETE; `uid` and `resource_version` are preconditions: another object of that name is a Conflict."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if propagation_policy:
            options["propagationPolicy"] = propagation_policy
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        preconditions = {k: v for k, v in (("uid", uid), ("resourceVersion", resource_version)) if v}
        if preconditions:
            options["preconditions"] = preconditions
        return await self.request("DELETE", _path(resource, namespace, name), body=options)

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
        bookmarks: bool = False,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Events until the server ends the stream or the connection is cut; an ERROR event is raised (410: Expired).

        Close the iterator (`aclosing`) where you leave it early: the connection is given back then.
        """
        query = {
            "watch": "true",
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version,
            "timeoutSeconds": timeout_seconds,
            "allowWatchBookmarks": "true" if bookmarks else "",
        }
        response = await self._send("GET", _path(resource, namespace), query, None, "", is_stream=True)
        try:
            if response.status >= 400:
                raise as_expired(from_status(response.status, await response.read()))
            async for events in decode_events(response.chunks()):
                for event in events:
                    yield event
        except ConnectionFailed:
            return  # cut: the caller resumes from the last version it saw
        finally:
            await response.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """Anything else: the decoded answer (JSON, or text where the server sent other than JSON).

        `path` is percent-encoded already and may carry a query of its own.
        """
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                response = await self._send(method, path, query, body, content_type)
                try:
                    content = await response.read()
                finally:
                    await response.aclose()
        except TimeoutError:
            raise ConnectionFailed(f"{method} {path}: no answer in {REQUEST_TIMEOUT_SECONDS:g} seconds") from None
        if response.status >= 400:
            raise from_status(response.status, content)
        if not response.content_type.startswith("application/json"):
            return content.decode("utf-8", "replace")
        return orjson.loads(content)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        content_type: str,
        is_stream: bool = False,
    ) -> Response:
        if query and (encoded := urlencode([(k, v) for k, v in query.items() if v])):
            path = f"{path}?{encoded}"
        headers, content = self._headers, b""
        if body is not None:
            content = body if isinstance(body, bytes) else orjson.dumps(body)
            headers = {**headers, "Content-Type": content_type}
        return await self._transport.send(Request(method, path, headers, content, is_stream))


def _adapted(base_url: str, transport: Transport | httpx.AsyncBaseTransport | None) -> Transport:
    if transport is None:
        return Connections(base_url)
    return transport if hasattr(transport, "send") else HttpxTransport(base_url, transport)


def _path(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Names of roles may hold characters that mean something in a URL; no name holds "/" or "%"."""
    return quote(resource.path(namespace, name, subresource), "/:@!$&'()*+,;=")


def _write_options(field_manager: str, dry_run: bool) -> dict[str, str]:
    query = {}
    if field_manager:
        query["fieldManager"] = field_manager
    if dry_run:
        query["dryRun"] = "All"
    return query
