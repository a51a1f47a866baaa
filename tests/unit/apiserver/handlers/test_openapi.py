"""How the OpenAPI documents are served: kept by ETag, for ever by hash, in the forms clients read."""

from __future__ import annotations

import asyncio

import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def get(path: str, **headers: str) -> Answer:
    async def scenario(ask: Asking) -> Answer:
        return await ask(f"GET {path}", **headers)

    return on_a_server(scenario)


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v3/apis/batch/v1", "/openapi/v2"])
def test_who_has_a_document_is_told_so(path: str) -> None:
    """304 without a body for its ETag, 200 for any other."""

    async def scenario(ask: Asking) -> list[Answer]:
        first = await ask(f"GET {path}")
        etag = first.headers["etag"]
        return [first, await ask(f"GET {path}", if_none_match=etag), await ask(f"GET {path}", if_none_match='"x"')]

    first, again, other = on_a_server(scenario)
    assert [200, 304, 200] == [first.status, again.status, other.status]
    assert (b"", first.headers["etag"]) == (again.body, again.headers["etag"])


@pytest.mark.parametrize("path", ["", "v2", "apis/batch/v9", "apis/batch/v1/", "%00"])
def test_where_no_document_is(path: str) -> None:
    """Neither the index nor the other version's document is one of those below /openapi/v3/."""
    assert 404 == get(f"/openapi/v3/{path}").status


def test_what_the_index_names_never_changes() -> None:
    """The document behind a hash may be kept for ever; behind an old hash is where the new one is."""

    async def scenario(ask: Asking) -> tuple[str, Answer, Answer, Answer]:
        url = (await ask("GET /openapi/v3")).json["paths"]["apis/batch/v1"]["serverRelativeURL"]
        moved = await ask("GET /openapi/v3/apis/batch/v1?hash=OLD")
        return url, await ask(f"GET {url}"), moved, await ask("GET /openapi/v3/apis/batch/v1")

    url, kept, moved, plain = on_a_server(scenario)
    assert "public, immutable" == kept.headers["cache-control"]
    assert kept.headers["expires"].endswith("GMT")
    assert (301, url) == (moved.status, moved.headers["location"])
    assert "no-cache, private" == plain.headers["cache-control"]


def test_an_index_with_another_kind_has_another_etag() -> None:
    """By which clients learn of a new definition."""

    async def scenario(ask: Asking) -> list[str]:
        before = await ask("GET /openapi/v3")
        names = {"plural": "widgets", "kind": "Widget"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await ask(f"POST {path}", {"metadata": {"name": "widgets.example.com"}, "spec": spec})
        assert 201 == made.status, made.body
        await asyncio.sleep(30)  # of virtual time
        after = await ask("GET /openapi/v3")
        return [before.headers["etag"], after.headers["etag"]]

    before, after = on_a_server(scenario)
    assert before != after


@pytest.mark.parametrize(
    ("path", "accept", "answered"),
    [
        ("/openapi/v2", "*/*", "application/json"),
        ("/openapi/v2", PROTOBUF_V2, PROTOBUF_V2.replace("@", ".")),
        ("/openapi/v2", PROTOBUF_V2.replace("@", "."), PROTOBUF_V2.replace("@", ".")),
        ("/openapi/v2", f"application/json;q=0.5,{PROTOBUF_V2}", PROTOBUF_V2.replace("@", ".")),
        ("/openapi/v2", "text/html", ""),
        ("/openapi/v3/apis/batch/v1", "application/json", "application/json"),
        ("/openapi/v3/apis/batch/v1", "text/html", ""),
    ],
)
def test_which_form_is_answered(path: str, accept: str, answered: str) -> None:
    """The best the client accepts; 406 without a body where it is none."""
    answer = get(path, accept=accept)

    assert answered == answer.headers.get("content-type", "")
    assert (200 if answered else 406) == answer.status
    assert "Accept" == answer.headers["vary"]
