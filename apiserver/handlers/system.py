"""What is not a resource: health, version, metrics, OpenAPI and the index, as FastAPI routes."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response as HttpResponse

from apiserver.auth.tokens.discovery import CONFIGURATION_PATH, KEYS_PATH
from apiserver.handlers.health import Health
from apiserver.handlers.metrics import CONTENT_TYPE, Metrics
from apiserver.handlers.openapi import OpenApiDocuments
from apiserver.handlers.request import parse_query
from apiserver.handlers.response import NOT_FOUND_TEXT, Response
from apiserver.registry.catalog import Catalog
from kubeloop.apimachinery.exposition import text
from kubeloop.apimachinery.releases import git_version

ANY_METHOD = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]

_OTHER_PATHS = (
    CONFIGURATION_PATH,
    KEYS_PATH,
    "/flagz",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/statusz",
    "/version",
)


def version(release: str) -> dict[str, Any]:
    """/version of a minor version: what clients read to know which features to expect."""
    major, minor = release.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": git_version(release),
        "gitCommit": "kubeloop",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none (kubeloop is written in Python)",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def build(release: str) -> dict[str, str]:
    """The labels of kubernetes_build_info."""
    names = ("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler")
    said = version(release)
    return {_snake(name): said[name] for name in (*names, "platform")}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def add_routes(
    app: FastAPI, release: str, catalog: Catalog, openapi: OpenApiDocuments, metrics: Metrics, health: Health
) -> None:
    """Attach every route to the application."""
    for endpoint in health.endpoints:
        _add_health(app, health, endpoint)
    _add_metrics(app, metrics, health)

    @app.get("/version")
    @app.get("/version/", include_in_schema=False)
    async def get_version() -> HttpResponse:
        return _indented(version(release))

    @app.get("/openapi/v3")
    async def openapi_v3_index(request: Request) -> HttpResponse:
        return openapi.index(request)

    @app.get("/openapi/v3/{path:path}")
    async def openapi_v3(request: Request, path: str) -> HttpResponse:
        return await openapi.v3(request, path)

    @app.get("/openapi/v2")
    async def openapi_v2(request: Request) -> HttpResponse:
        return openapi.v2(request)

    @app.api_route("/", methods=ANY_METHOD, include_in_schema=False)
    @app.api_route("/index.html", methods=ANY_METHOD, include_in_schema=False)
    async def index() -> HttpResponse:
        return _indented({"paths": listed_paths(catalog, health)})


def listed_paths(catalog: Catalog, health: Health) -> list[str]:
    """What the index names, in order."""
    groups = [group for group in catalog.groups() if group]
    versions = [f"/apis/{group}/{v}" for group in groups for v in catalog.groups()[group]]
    paths = ["/api", "/api/v1", "/apis", *(f"/apis/{group}" for group in groups), *versions]
    return sorted([*paths, *health.paths(), *_OTHER_PATHS])


def _add_health(app: FastAPI, health: Health, endpoint: str) -> None:
    """A health endpoint answers any method; `?verbose` lists the checks, a path below it asks for one."""

    @app.api_route(f"/{endpoint}", methods=ANY_METHOD, include_in_schema=False)
    async def together(request: Request) -> HttpResponse:
        return http_response(health.all(endpoint, parse_query(request.scope["query_string"])))

    @app.api_route(f"/{endpoint}/{{check:path}}", methods=ANY_METHOD, include_in_schema=False)
    async def alone(check: str) -> HttpResponse:
        return http_response(health.one(endpoint, check) or NOT_FOUND_TEXT)


def _add_metrics(app: FastAPI, metrics: Metrics, health: Health) -> None:
    @app.api_route("/metrics", methods=ANY_METHOD, include_in_schema=False)
    async def get_metrics() -> HttpResponse:
        return HttpResponse(metrics.text(), media_type=CONTENT_TYPE)

    @app.api_route("/metrics/slis", methods=ANY_METHOD, include_in_schema=False)
    async def get_indicators() -> HttpResponse:
        return HttpResponse(text(health.families()), media_type=CONTENT_TYPE)


def _indented(value: dict[str, Any]) -> HttpResponse:
    return HttpResponse(orjson.dumps(value, option=orjson.OPT_INDENT_2), media_type="application/json")


def http_response(response: Response) -> HttpResponse:
    """An answer as FastAPI's routes give it."""
    headers = {name.decode(): value.decode() for name, value in response.headers}
    return HttpResponse(response.body, response.status, headers, response.content_type)
