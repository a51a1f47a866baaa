"""What a request asks for: known ways are found again, and lead where they would if nobody had gone them before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.aggregation.aggregated import Aggregated
from apiserver.handlers import routing
from apiserver.handlers.response import Response
from apiserver.handlers.routing import Asked, Headers, Routing
from apiserver.registry.catalog import Catalog
from apiserver.resources.catalog import KINDS
from kubeloop.apimachinery.errors import ApiError

CATALOG = Catalog.of(KINDS)
SEGMENTS = (
    "api",
    "apis",
    "v1",
    "apps",
    "coordination.k8s.io",
    "namespaces",
    "default",
    "pods",
    "leases",
    "deployments",
)
SEGMENTS += ("nodes", "status", "scale", "binding", "watch", "proxy", "web", "%2f")
PATHS = st.one_of(
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=8),
    st.lists(st.sampled_from(SEGMENTS), max_size=3).map(lambda rest: ["api", "v1", "namespaces", "default", *rest]),
    st.lists(st.sampled_from(SEGMENTS), max_size=3).map(lambda rest: ["apis", "apps", "v1", *rest]),
).map(lambda segments: "/" + "/".join(segments))
METHODS = st.sampled_from(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
QUERIES = st.sampled_from(({}, {}, {"watch": ["1"]}, {"timeout": ["5s"]}, {"dryRun": ["All"]}))
HEADERS: st.SearchStrategy[Headers] = st.sampled_from(
    ({}, {b"content-type": b"application/json"}, {b"content-type": b"application/apply-patch+yaml"})
)


def new() -> Routing:
    return Routing(CATALOG, Aggregated(), 60)


KNOWING = new()


def way(
    found: Routing, method: str, path: str, query: dict[str, list[str]], headers: Headers
) -> Asked | Response | str:
    try:
        return found.asked(method, path, query, headers)
    except ApiError as error:
        return f"{error.code} {error.message}"


@given(METHODS, PATHS, QUERIES, HEADERS)
def test_whoever_went_there_before_it_is_the_same_way(
    method: str, path: str, query: dict[str, list[str]], headers: Headers
) -> None:
    """Also what is refused, and what headers and parameters make of it."""
    expected = way(new(), method, path, query, headers)

    for _ in range(2):
        assert expected == way(KNOWING, method, path, query, headers)


def test_a_known_way_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewing a lease is the same for ever."""
    found = new()
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/node-1"
    first = found.asked("PUT", path, {}, {})
    monkeypatch.setattr(routing, "find_target", None)

    assert found.asked("PUT", path, {}, {}) is first


def test_a_kind_that_went_is_found_no_more() -> None:
    """What is served may change at any time; custom kinds are looked for each time anyway."""
    catalog = Catalog.of(KINDS)
    found = Routing(catalog, Aggregated(), 60)
    deployments = catalog.get("apps", "v1", "deployments")
    assert deployments is not None
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert isinstance(found.asked("POST", path, {}, {}), Asked)

    catalog.remove(deployments)
    gone = way(found, "POST", path, {}, {})
    catalog.add(replace(deployments, deprecation="soon"))
    back = found.asked("POST", path, {}, {})

    assert gone == "404 the server could not find the requested resource"
    assert isinstance(back, Asked)
    assert back.target.kind.deprecation == "soon"


def test_no_more_ways_are_known_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor long ones."""
    monkeypatch.setattr(routing, "MAX_REMEMBERED", 3)
    found = new()

    for i in range(10):
        found.asked("GET", f"/api/v1/namespaces/default/pods/{i}", {}, {})
        assert len(found._known) <= 3
    found = new()
    found.asked("GET", f"/api/v1/namespaces/default/pods/{'a' * routing.MAX_PATH_LENGTH}", {}, {})

    assert not found._known
