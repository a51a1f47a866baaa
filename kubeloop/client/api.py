"""Speaking to an API server: one method a verb, objects as JSON dicts, refusals as `ApiError`s.

Called by every loop (through kubeloop.runtime), the node simulator and the CLI. Nothing is retried here: a caller that
backs off knows better what a second attempt means. Watching for ever is the reflector's work, not this class'.
"""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

import orjson

from kubeloop.apimachinery.errors import from_status
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.connections import Connections
from kubeloop.client.transport import ConnectionFailed, HttpxTransport, Request, Response, Transport
from kubeloop.client.unmanaged import object_unmanaged
from kubeloop.client.watching import WatchEvent, as_expired, decode_events
from kubeloop.time_limit import TimeLimit

if TYPE_CHECKING:
    import httpx

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

# Longer than any admission webhook may take (30 s).
REQUEST_TIMEOUT_SECONDS = 60.0

_is_plain = re.compile(r"[a-z0-9/.:-]*").fullmatch  # of nearly every path: quoting would cost more than the look


class Api:
    """A client of one API server. Safe for any number of concurrent tasks of one event loop.

    `transport` replaces the sockets: an httpx transport, or one of our own kind. `token`: text, or a function that is
    asked for it with every request (kubeconfig.TokenFile), where it changes over time.
    `managed_fields=False`, of some methods: what comes back is without metadata.managedFields, which costs less.
    `on_warning` is called with each Warning header of an answer (as a WarningLog is); without one they are lost.
    """

    def __init__(
        self,
        base_url: str,
        transport: Transport | httpx.AsyncBaseTransport | None = None,
        token: str | Callable[[], str] = "",
        user_agent: str = "kubeloop",
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self.on_warning = on_warning
        self.base_url = base_url.rstrip("/")
        self._transport = _adapted(self.base_url, transport)
        self._time_limit = TimeLimit(REQUEST_TIMEOUT_SECONDS)
        self._headers = {"Accept": "application/json", "User-Agent": user_agent}
        self._read_token = token if callable(token) else None
        if isinstance(token, str) and token:
            self._headers["Authorization"] = f"Bearer {token}"

    def impersonating(self, user: str) -> Self:
        """The same client over the same connections, whose requests are made as somebody else (RBAC must allow it)."""
        other = copy.copy(self)
        other._headers = {**self._headers, "Impersonate-User": user}
        return other

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        subresource: str = "",
        *,
        metadata_only: bool = False,
    ) -> Object:
        """`metadata_only`: apiVersion, kind and metadata, and nothing else crosses the network."""
        path = _path(resource, namespace, name, subresource)
        if not metadata_only:
            return await self.request("GET", path)
        return _metadata_of(resource, await self.request("GET", path, accept=_METADATA))

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
        metadata_only: bool = False,
    ) -> Object:
        """One page of a list; items get the kind and apiVersion that the server leaves out of built-in ones."""
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "limit": limit,
            "continue": continue_token,
            "resourceVersion": resource_version,
        }
        accept = _METADATA_LIST if metadata_only else ""
        page = await self.request("GET", _path(resource, namespace), query=query, accept=accept)
        kind, api_version = resource.kind, resource.api_version
        items = page.get("items") or []
        if metadata_only:
            items = [_metadata_of(resource, item) for item in items]
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
        managed_fields: bool = True,
    ) -> Object:
        """POST; `name` and `subresource` address what a subresource hangs on (a pod's binding)."""
        path = _path(resource, namespace or namespace_of(obj), name, subresource)
        query = _write_options(field_manager, dry_run)
        return await self.request("POST", path, query=query, body=obj, managed_fields=managed_fields)

    async def update(
        self,
        resource: Resource,
        obj: ReadOnlyObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        managed_fields: bool = True,
    ) -> Object:
        """PUT to where the object's own namespace and name say."""
        path = _path(resource, namespace_of(obj), name_of(obj), subresource)
        query = _write_options(field_manager, dry_run)
        return await self.request("PUT", path, query=query, body=obj, managed_fields=managed_fields)

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
        managed_fields: bool = True,
    ) -> Object:
        query = _write_options(field_manager, dry_run)
        if force:
            query["force"] = "true"
        path = _path(resource, namespace, name, subresource)
        return await self.request(
            "PATCH", path, query=query, body=patch, content_type=patch_type, managed_fields=managed_fields
        )

    async def apply(
        self,
        resource: Resource,
        obj: ReadOnlyObject,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply of what `obj` says, to where its own namespace and name say; made where there is none.

        Fields that `field_manager` applied before and no longer says go. A field that somebody else owns is a Conflict,
        unless `force` takes it over: what a controller does.
        """
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self.patch(
            resource,
            name_of(obj),
            whole,
            namespace_of(obj),
            patch_type=APPLY,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )

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
        metadata_only: bool = False,
        managed_fields: bool = True,
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
        accept = _METADATA if metadata_only else ""
        response = await self._send("GET", _path(resource, namespace), query, None, "", accept, is_stream=True)
        try:
            if response.status >= 400:
                raise as_expired(from_status(response.status, await response.read()))
            async for events in decode_events(response.chunks(), managed_fields):
                for event in events:
                    yield WatchEvent(event.type, _metadata_of(resource, event.object)) if metadata_only else event
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
        accept: str = "",
        managed_fields: bool = True,
    ) -> Any:
        """Anything else: the decoded answer (JSON, or text where the server sent other than JSON).

        `path` is percent-encoded already and may carry a query of its own.
        """
        piece = self._time_limit.begin()
        try:
            response = await self._send(method, path, query, body, content_type, accept)
            try:
                content = await response.read()
            finally:
                await response.aclose()
        except asyncio.CancelledError:
            if not self._time_limit.has_ended(piece):
                raise
            raise ConnectionFailed(f"{method} {path}: no answer in {REQUEST_TIMEOUT_SECONDS:g} seconds") from None
        finally:
            self._time_limit.end(piece)
        if response.status >= 400:
            raise from_status(response.status, content)
        if not response.content_type.startswith("application/json"):
            return content.decode("utf-8", "replace")
        return orjson.loads(content) if managed_fields else object_unmanaged(content)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        content_type: str,
        accept: str = "",
        is_stream: bool = False,
    ) -> Response:
        if query and (encoded := urlencode([(k, v) for k, v in query.items() if v])):
            path = f"{path}?{encoded}"
        headers, content = self._headers, b""
        if body is not None:
            content = body if isinstance(body, bytes) else orjson.dumps(body)
            headers = {**headers, "Content-Type": content_type}
        if accept:
            headers = {**headers, "Accept": accept}
        if self._read_token is not None:
            headers = {**headers, "Authorization": f"Bearer {self._read_token()}"}
        return await self._transport.send(Request(method, path, headers, content, is_stream, self.on_warning))


def _adapted(base_url: str, transport: Transport | httpx.AsyncBaseTransport | None) -> Transport:
    if transport is None:
        return Connections(base_url)
    return transport if hasattr(transport, "send") else HttpxTransport(base_url, transport)


def _metadata_of(resource: Resource, answer: Object) -> Object:
    """What a PartialObjectMetadata says, as part of the object it is of; a server that knows none sent all of it."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": answer.get("metadata") or {}}


def _path(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Names of roles may hold characters that mean something in a URL; no name holds "/" or "%"."""
    path = resource.path(namespace, name, subresource)
    return path if _is_plain(path) else quote(path, "/:@!$&'()*+,;=")


def _write_options(field_manager: str, dry_run: bool) -> dict[str, str]:
    query = {}
    if field_manager:
        query["fieldManager"] = field_manager
    if dry_run:
        query["dryRun"] = "All"
    return query
