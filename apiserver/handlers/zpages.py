"""/statusz and /flagz: what this process is, and with which flags it was started, for people who look into it.

Programs name the kind they want (`Accept: application/json;as=Statusz;g=config.k8s.io;v=v1beta1`), all others get
text, whose delimiter changes with every answer so that nobody parses it.
Facts: k8s.io/apiserver/pkg/server/statusz and flagz (v1.36).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import Response as HttpResponse

from apiserver.handlers.encoding import write
from apiserver.handlers.negotiation import PAGE_GROUP, PLAIN, negotiate_page
from apiserver.handlers.pretty import pretty, wants_pretty
from apiserver.handlers.response import TEXT, Response, error_response
from apiserver.handlers.system import ANY_METHOD, http_response, version
from apiserver.handlers.warning_headers import warning_headers
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.times import format_time

COMPONENT = "apiserver"
DEPRECATED_VERSION = "v1alpha1"
_DELIMITERS = (":", ": ", "=", " ")
_HEADER = """
{component} {name}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.
"""
# What clients use; the others are for looking into the server.
_NO_DEBUGGING = ("/api", "/apis", "/openapi", "/openid", "/.well-known")


class Page(NamedTuple):
    """`fields` are those of the object beside its metadata; `lines` make them text with a delimiter."""

    name: str
    kind: str
    fields: Callable[[], dict[str, Any]]
    lines: Callable[[str], Iterable[str]]


def add_routes(
    app: FastAPI,
    release: str,
    clock: Clock,
    rng: random.Random,
    paths: Callable[[], Iterable[str]],
    flags: Mapping[str, str],
) -> None:
    """Attach both. `release` is the minor version of Kubernetes, `paths` are all that the server lists; `flags` are
    names without dashes in front, and values.
    """
    for page in (status_page(release, clock, paths), flag_page(flags)):
        _add(app, page, rng)


def _add(app: FastAPI, page: Page, rng: random.Random) -> None:
    @app.api_route(f"/{page.name}", methods=ANY_METHOD, include_in_schema=False)
    async def show(request: Request) -> HttpResponse:
        response = _answer(page, request.headers.get("accept", ""), rng)
        return http_response(pretty(response) if wants_pretty(request.scope) else response)


def _answer(page: Page, accept: str, rng: random.Random) -> Response:
    try:
        form = negotiate_page(accept, page.kind)
    except ApiError as error:
        return error_response(error)
    if form.media_type == PLAIN:
        header = _HEADER.format(component=COMPONENT, name=page.name)
        return Response(
            200, (header + "".join(f"{line}\n" for line in page.lines(rng.choice(_DELIMITERS)))).encode(), TEXT
        )
    metadata = {"metadata": {"name": COMPONENT}}
    obj = {"kind": page.kind, "apiVersion": f"{PAGE_GROUP}/{form.version}", **metadata, **page.fields()}
    old = f"This version of the {page.name} endpoint is deprecated. Please use a newer version."
    warnings = warning_headers([old] if form.version == DEPRECATED_VERSION else [])
    return Response(200, write(obj, form), form.content_type, list(warnings))


def status_page(release: str, clock: Clock, paths: Callable[[], Iterable[str]]) -> Page:
    """/statusz: since when the process runs, its versions, and where else to look."""
    started = clock.now()
    said = version(release)
    emulated = f"{said['emulationMajor']}.{said['emulationMinor']}"

    def fields() -> dict[str, Any]:
        return {
            "startTime": format_time(started),
            "uptimeSeconds": _seconds_since(started, clock),
            "goVersion": said["goVersion"],
            "binaryVersion": said["gitVersion"].removeprefix("v"),
            "emulationVersion": emulated,
            "paths": _folders(paths()),
        }

    def lines(delimiter: str) -> Iterable[str]:
        now = fields()
        shown = {
            "Started": f"{started:%a %b} {started.day:2} {started:%H:%M:%S} UTC {started:%Y}",
            "Up": _uptime(now["uptimeSeconds"]),
            "Go version": now["goVersion"],
            "Binary version": now["binaryVersion"],
            "Emulation version": emulated,
            "Paths": " ".join(now["paths"]),
        }
        return ["", *(f"{name}{delimiter} {value}" for name, value in shown.items())]

    return Page("statusz", "Statusz", fields, lines)


def flag_page(flags: Mapping[str, str]) -> Page:
    """/flagz: every flag with its value, given or not."""

    def lines(delimiter: str) -> Iterable[str]:
        return [f"{name}{delimiter}{flags[name]}" for name in sorted(flags)]

    return Page("flagz", "Flagz", lambda: {"flags": dict(sorted(flags.items()))} if flags else {}, lines)


def _seconds_since(started: datetime, clock: Clock) -> int:
    return max(0, int((clock.now() - started).total_seconds()))


def _uptime(seconds: int) -> str:
    return f"{seconds // 3600} hr {seconds // 60 % 60:02} min {seconds % 60:02} sec"


def _folders(paths: Iterable[str]) -> list[str]:
    """The first parts of paths, each once; not the page's own, which upstream adds after it has looked."""
    folders = {f"/{path.split('/')[1]}" for path in paths if path.strip("/")}
    return sorted(folders.difference(_NO_DEBUGGING, ["/statusz"]))
