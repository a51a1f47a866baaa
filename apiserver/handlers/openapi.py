"""OpenAPI of what the catalog serves; documents are made on first use and kept as bytes.

Clients keep what they have by its ETag, and for ever what they asked for by its hash, as the index names it. Facts:
kube-openapi/pkg/handler and handler3 (v1.36).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime

import orjson
from fastapi import Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from apiserver.aggregation.aggregator import Aggregator
from apiserver.aggregation.remote import Remote
from apiserver.handlers.negotiation import JSON, first_accepted
from apiserver.outgoing.errors import CallError
from apiserver.outgoing.services import ServiceError
from apiserver.registry.catalog import Catalog, Kind
from apiserver.schema import openapi_protobuf
from apiserver.schema.definitions import Schema
from apiserver.schema.openapi import OpenApi
from apiserver.schema.openapi_paths import ServedKind, ServedSubresource

_VARY = {"vary": "Accept"}
_ONE_YEAR = timedelta(days=365)


class OpenApiDocuments:
    """The documents of a catalog, made anew when its kinds change, and the answers that carry them."""

    def __init__(
        self, schema: Schema, catalog: Catalog, git_version: str, now: Callable[[], datetime], aggregator: Aggregator
    ) -> None:
        """What `aggregator` knows of is served by others, and so are the documents about it."""
        self._now, self._aggregated, self._calls = now, aggregator.aggregated, aggregator.calls
        self._schema, self._catalog, self._git_version = schema, catalog, git_version
        self._kinds: tuple[Kind, ...] = ()
        self._documents = OpenApi(schema, (), git_version)

    def current(self) -> OpenApi:
        kinds = tuple(self._catalog)
        if kinds != self._kinds:
            self._kinds = kinds
            self._documents = OpenApi(self._schema, [_served(kind) for kind in kinds], self._git_version)
        return self._documents

    def index(self, request: Request) -> Response:
        """/openapi/v3: the documents and where they are."""
        documents = self.current()
        index, etag = documents.index(), documents.etag("")
        if theirs := self._aggregated.openapi():
            paths = {path: {"serverRelativeURL": url} for path, (_, url) in theirs.items()}
            own = orjson.loads(index)["paths"]
            index = orjson.dumps({"paths": dict(sorted({**paths, **own}.items()))})
            etag = hashlib.sha512(index).hexdigest().upper()
        return _kept(request, index, JSON, {"etag": f'"{etag}"'})

    async def v3(self, request: Request, path: str) -> Response:
        """/openapi/v3/PATH. What is asked for by a hash that is no longer its own has moved."""
        documents = self.current()
        if path not in documents:
            if path in (theirs := self._aggregated.openapi()):
                return await self._passed_on(theirs[path][0], request)
            return PlainTextResponse("404 page not found\n", 404)
        if not first_accepted(request.headers.get("accept", ""), (JSON,)):
            return Response(status_code=406, headers=_VARY)
        etag = documents.etag(path)
        headers = {**_VARY, "etag": f'"{etag}"'}
        if asked := request.query_params.get("hash"):
            if asked != etag:
                return RedirectResponse(documents.url(path), 301, headers=headers)
            expires = format_datetime(self._now() + _ONE_YEAR, usegmt=True)
            headers |= {"cache-control": "public, immutable", "expires": expires}
        document = documents.v3(path)
        assert document is not None  # it has an ETag
        return _kept(request, document, JSON, headers)

    async def _passed_on(self, remote: Remote, request: Request) -> Response:
        """The document of an aggregated API, as its server has it."""
        target = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
        known = request.headers.get("if-none-match", "")
        try:
            answer = await self._calls.get(remote, target, request.headers.get("accept", "*/*"), known)
        except (CallError, ServiceError) as error:
            return PlainTextResponse(f"error trying to reach service: {error}\n", 503)
        headers = {**_VARY, **({"etag": answer.etag} if answer.etag else {})}
        return Response(answer.body, answer.status, headers, answer.content_type or None)

    def v2(self, request: Request) -> Response:
        """/openapi/v2, as JSON or as the protobuf kubectl reads."""
        documents = self.current()
        known = (JSON, openapi_protobuf.MEDIA_TYPE, openapi_protobuf.RETURNED_TYPE)
        accepted = first_accepted(request.headers.get("accept", ""), known)
        headers = {**_VARY, "etag": f'"{documents.etag("v2")}"'}
        if not accepted:
            return Response(status_code=406, headers=_VARY)
        if accepted == JSON:
            return _kept(request, documents.v2(), JSON, headers)
        return _kept(request, documents.v2_protobuf(), openapi_protobuf.RETURNED_TYPE, headers)


def _kept(request: Request, document: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    """The document, or 304 for a client that has it."""
    known = [text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(",")]
    if headers["etag"] in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(document, media_type=media_type, headers=headers)


def _served(kind: Kind) -> ServedKind:
    resource = kind.resource
    return ServedKind(
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        plural=resource.plural,
        is_namespaced=resource.namespaced,
        verbs=kind.verbs,
        schema=kind.custom.schema if kind.custom is not None else None,
        list_kind=kind.list_kind,
        selectable=_selectable(kind),
        # Namespaces are documented to answer with a Status, and do not.
        returns_object_on_delete=kind.strategy.returns_object_on_delete and kind.storage != "namespaces",
        subresources=tuple(
            ServedSubresource(s.name, s.kind, s.verbs, s.group or resource.group, s.version or resource.version)
            for s in kind.subresources
        ),
    )


def _selectable(kind: Kind) -> tuple[str, ...]:
    """Those of a custom kind, in the order of its definition."""
    if not kind.is_custom:
        return ()
    return tuple(name for name in kind.strategy.selectable_fields({}) if name in kind.strategy.selectable_field_names)
