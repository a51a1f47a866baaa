"""What is not a resource: health, version, metrics, OpenAPI and the index, as FastAPI routes."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from fastapi.responses import Response as HttpResponse

from apiserver.handlers.metrics import Metrics
from apiserver.handlers.openapi import OpenApiDocuments
from apiserver.registry.catalog import Catalog
from apiserver.schema import openapi_protobuf

GIT_VERSION = "v1.36.0"
HEALTH = ("healthz", "livez", "readyz")
CHECKS = ("ping", "log", "storage", "watch-cache")


def version() -> dict[str, Any]:
    """/version: what clients read to know which features to expect."""
    major, minor, _ = GIT_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "kubeloop",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none (kubeloop is written in Python)",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def add_routes(app: FastAPI, catalog: Catalog, openapi: OpenApiDocuments, metrics: Metrics) -> None:
    """Attach every route to the application."""
    for endpoint in HEALTH:
        _add_health(app, endpoint)

    @app.get("/version")
    async def get_version() -> HttpResponse:
        return HttpResponse(orjson.dumps(version(), option=orjson.OPT_INDENT_2), media_type="application/json")

    @app.get("/metrics")
    async def get_metrics() -> HttpResponse:
        return HttpResponse(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/openapi/v3")
    async def openapi_v3_index() -> HttpResponse:
        return HttpResponse(openapi.current().index(), media_type="application/json")

    @app.get("/openapi/v3/{path:path}")
    async def openapi_v3(path: str) -> HttpResponse:
        document = openapi.current().v3(path)
        if document is None:
            return PlainTextResponse("404 page not found\n", 404)
        headers = {"etag": f'"{openapi.current().etag(path)}"'}
        return HttpResponse(document, media_type="application/json", headers=headers)

    @app.get("/openapi/v2")
    async def openapi_v2(request: Request) -> HttpResponse:
        documents = openapi.current()
        headers = {"etag": f'"{documents.etag("v2")}"'}
        if openapi_protobuf.MEDIA_TYPE in request.headers.get("accept", ""):
            return HttpResponse(documents.v2_protobuf(), media_type="application/octet-stream", headers=headers)
        return HttpResponse(documents.v2(), media_type="application/json", headers=headers)

    @app.get("/")
    async def index() -> dict[str, list[str]]:
        groups = [group for group in catalog.groups() if group]
        versions = [f"/apis/{group}/{v}" for group in groups for v in catalog.groups()[group]]
        paths = ["/api", "/api/v1", "/apis", *(f"/apis/{group}" for group in groups), *versions]
        more = [f"/{endpoint}" for endpoint in HEALTH] + ["/metrics", "/openapi/v2", "/openapi/v3", "/version"]
        return {"paths": sorted([*paths, *more])}


def _add_health(app: FastAPI, endpoint: str) -> None:
    """A health endpoint answers any method; `?verbose` lists the checks, a path below it asks for one."""
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    @app.api_route(f"/{endpoint}", methods=methods, include_in_schema=False)
    async def health(request: Request) -> PlainTextResponse:
        if "verbose" not in request.query_params:
            return PlainTextResponse("ok")
        lines = [f"[+]{check} ok" for check in CHECKS]
        return PlainTextResponse("\n".join([*lines, f"{endpoint} check passed", ""]))

    @app.api_route(f"/{endpoint}/{{check}}", methods=methods, include_in_schema=False)
    async def one_check(check: str) -> PlainTextResponse:
        return PlainTextResponse("ok") if check in CHECKS else PlainTextResponse("404 page not found\n", 404)
