"""What HTTP methods are on paths that have no use for them."""

from __future__ import annotations

import asyncio

import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "subresources": {"status": {}},
            }
        ],
    },
}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def ask(request: str) -> Answer:
    async def scenario(ask: Asking) -> Answer:
        await ask("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        await ask("POST /api/v1/namespaces", {"metadata": {"name": "default"}})
        await asyncio.sleep(1)
        return await ask(request, WIDGET)

    return on_a_server(scenario)


@pytest.mark.parametrize(
    ("request_line", "code", "message"),
    [
        (f"POST {WIDGETS}/b/status", 405, 'create is not supported on resources of kind "widgets.example.com"'),
        (f"DELETE {WIDGETS}/b/status", 405, 'delete is not supported on resources of kind "widgets.example.com"'),
        (f"GET {WIDGETS}/b/scale", 404, 'widgets.example.com "b" not found'),
        (f"PUT {WIDGETS}", 400, "name must be provided"),
        ("PUT /api/v1/namespaces/default/pods", 405, "the server does not allow this method on the requested resource"),
    ],
)
def test_methods_a_path_has_no_use_for(request_line: str, code: int, message: str) -> None:
    """Custom kinds take every method for a verb; built-in ones have routes."""
    answer = ask(request_line)

    assert (code, message) == (answer.status, answer.json["message"])


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_writes_outside_of_namespaces_lead_nowhere(method: str) -> None:
    """As if nothing were served there."""
    answer = ask(f"{method} /apis/example.com/v1/widgets")

    assert (404, b"404 page not found\n") == (answer.status, answer.body)


def test_what_no_etcd_would_take() -> None:
    """A custom object of more than 1.5 MiB is refused where it would be stored: a dry run finds nothing wrong."""
    large = {**WIDGET, "spec": {"text": "x" * (3 << 19)}}

    async def scenario(asking: Asking) -> list[Answer]:
        await asking("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        await asking("POST /api/v1/namespaces", {"metadata": {"name": "default"}})
        await asyncio.sleep(1)
        return [await asking(f"POST {WIDGETS}?dryRun=All", large), await asking(f"POST {WIDGETS}", large)]

    tried, stored = on_a_server(scenario)

    assert (201, 500) == (tried.status, stored.status)
    assert "etcdserver: request is too large" == stored.json["message"]


def test_who_owns_what_is_forgotten_where_an_object_fits_without() -> None:
    """Entries of managedFields may be most of an object; apply, which lives by them, is refused instead."""
    fitting = {**WIDGET, "spec": {"text": "x" * 1_500_000, "many": {f"field-{i}": i for i in range(3000)}}}
    named = {**fitting, "metadata": {**WIDGET["metadata"], "name": "b"}}

    async def scenario(asking: Asking) -> list[Answer]:
        await asking("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        await asking("POST /api/v1/namespaces", {"metadata": {"name": "default"}})
        await asyncio.sleep(1)
        return [
            await asking(f"POST {WIDGETS}", fitting),
            await asking(f"PATCH {WIDGETS}/b?fieldManager=m", named, content_type="application/apply-patch+yaml"),
        ]

    stored, applied = on_a_server(scenario)

    assert (201, False) == (stored.status, "managedFields" in stored.json["metadata"])
    assert (500, "etcdserver: request is too large") == (applied.status, applied.json["message"])


def test_what_is_posted_to_an_object() -> None:
    """It is created under its own name."""
    answer = ask(f"POST {WIDGETS}/b")

    assert (201, "a") == (answer.status, answer.json["metadata"]["name"])
