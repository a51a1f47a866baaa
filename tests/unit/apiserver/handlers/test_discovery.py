"""Discovery: forms, caching and hashes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def get(path: str, **headers: str) -> Answer:
    async def scenario(ask: Asking) -> Answer:
        return await ask(f"GET {path}", **headers)

    return on_a_server(scenario)


def test_who_has_the_document_is_told_so() -> None:
    """304 for the ETag of what would be sent, and only for that."""

    async def scenario(ask: Asking) -> list[Answer]:
        first = await ask("GET /apis", accept=AGGREGATED)
        again = await ask("GET /apis", accept=AGGREGATED, if_none_match=first.headers["etag"])
        other = await ask("GET /api", accept=AGGREGATED, if_none_match=first.headers["etag"])
        return [first, again, other]

    first, again, other = on_a_server(scenario)
    assert [200, 304, 200] == [first.status, again.status, other.status]
    assert b"" == again.body
    assert ("Accept", "public") == (first.headers["vary"], first.headers["cache-control"])


def test_what_a_client_may_add_to_the_aggregated_form() -> None:
    """Parameters that ask for no conversion mean nothing."""
    for more in (";profile=nopeer", ";q=0.5"):
        assert "APIGroupDiscoveryList" == get("/apis", accept=AGGREGATED + more).json["kind"]


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        ("/api", "text/html", "406: Not Acceptable\n\nAvailable representations: "),
        ("/apis", "text/html", "only the following media types are accepted: "),
        ("/apis/apps", "text/html", "only the following media types are accepted: "),
        ("/apis/apps/v1", "text/html", "406: Not Acceptable\n\nAvailable representations: "),
        ("/apis", AGGREGATED.replace("v=v2", "v=v2beta1"), "only the following media types are accepted: "),
    ],
)
def test_forms_nobody_writes_are_refused(path: str, accept: str, message: str) -> None:
    """The aggregator and the routes behind it say so differently."""
    answer = get(path, accept=accept)

    assert (406, True) == (answer.status, answer.json["message"].startswith(message))


def test_groups_come_in_the_order_of_their_priority() -> None:
    """That of the aggregator, by which clients choose among resources of one name."""
    groups = [group["name"] for group in get("/apis").json["groups"]]

    assert ["apiregistration.k8s.io", "apps", "events.k8s.io"] == groups[:3]
    assert ["discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"] == groups[-3:]


def test_documents_are_written_in_yaml() -> None:
    """Where that is what the client accepts."""
    answer = get("/apis/apps", accept="application/yaml")

    assert "application/yaml" == answer.headers["content-type"]
    assert answer.body.startswith(b"apiVersion: v1\nkind: APIGroup\n")


def test_what_is_stored_shows_the_hash_of_its_version() -> None:
    """The real server's own, the same for all versions of a kind; what is only answered has none."""

    def hashes(path: str) -> dict[str, Any]:
        return {entry["name"]: entry.get("storageVersionHash") for entry in get(path).json["resources"]}

    core = hashes("/api/v1")
    assert "xPOwRZ+Yhw8=" == core["pods"]
    assert core["events"] == hashes("/apis/events.k8s.io/v1")["events"] == "r2yiGXH7wu8="
    definitions = hashes("/apis/apiextensions.k8s.io/v1")
    assert "jfWCUB31mvA=" == definitions["customresourcedefinitions"]  # stored as v1beta1, which is long gone
    assert [None] * 3 == [core["bindings"], core["componentstatuses"], core["pods/status"]]


def test_custom_kinds_on_their_way_out() -> None:
    """Their subresources stand behind them with their own kinds; what would change objects is no longer offered."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget", "listKind": "Widgets"},
            "versions": [version],
        },
    }
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "finalizers": ["example.com/hold"]},
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    async def scenario(ask: Asking) -> list[Answer]:
        await ask(f"POST {definitions}", definition)
        await asyncio.sleep(1)
        before = await ask("GET /apis/example.com/v1")
        aggregated = await ask("GET /apis", accept=AGGREGATED)
        await ask("POST /apis/example.com/v1/widgets", widget)
        await ask(f"DELETE {definitions}/widgets.example.com")
        await asyncio.sleep(1)
        listed = await ask("GET /apis/example.com/v1/widgets")
        return [before, aggregated, await ask("GET /apis/example.com/v1"), listed]

    before, aggregated, after, listed = on_a_server(scenario)
    assert ["widgets", "widgets/status", "widgets/scale"] == [entry["name"] for entry in before.json["resources"]]
    assert "Widgets" == listed.json["kind"]
    assert "create" in before.json["resources"][0]["verbs"]
    assert ["delete", "deletecollection", "get", "list", "watch"] == after.json["resources"][0]["verbs"]
    group = next(item for item in aggregated.json["items"] if item["metadata"]["name"] == "example.com")
    kinds = [below["responseKind"] for below in group["versions"][0]["resources"][0]["subresources"]]
    own, foreign = ("example.com", "v1", "Widget"), ("autoscaling", "v1", "Scale")
    assert [own, foreign] == [(kind["group"], kind["version"], kind["kind"]) for kind in kinds]
