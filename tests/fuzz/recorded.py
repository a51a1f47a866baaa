"""Requests that a real server once answered: those of the recordings that need only the API server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from tests.conformance.servers import RECORDINGS

_EVERY = 3  # of the recordings; all of them say nothing more to a fuzzer, and take longer to read
_AREAS = frozenset(
    [
        "admission",
        "apply",
        "auth",
        "concurrency",
        "crd",
        "crud",
        "defaults",
        "deletion",
        "dry-run",
        "errors",
        "field-validation",
        "immutable",
        "list",
        "patch-json",
        "patch-merge",
        "patch-strategic",
        "selectors",
        "subresources",
        "tables",
        "validation",
        "watch",
        "cases-api",
    ]
)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request. `body` is a JSON value or None; `type` its media type or ""."""

    method: str
    path: str
    body: Any
    type: str


@cache
def recorded(namespace: str) -> list[Recorded]:
    """All of them, $NS being `namespace`."""
    paths = sorted(path for path in RECORDINGS.glob("*/*.yaml") if path.parent.name in _AREAS)
    return [
        step
        for path in paths[::_EVERY]
        for step in _steps(path.read_text().replace("$NS", namespace).replace("$RAND", "some"))
    ]


def _steps(text: str) -> list[Recorded]:
    found = []
    for step in yaml.load(text, Loader=_LOADER)["steps"]:
        method, _, path = str(step.get("do", "")).partition(" ")
        if path.startswith("/"):
            found.append(Recorded(method, path.replace(" ", "%20"), step.get("body"), step.get("type", "")))
    return found
