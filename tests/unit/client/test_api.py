"""What the client sends for each verb, and what it makes of the answers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import orjson
import pytest

from kubeloop.apimachinery.errors import Conflict, Expired, NotFound, ServiceUnavailable
from kubeloop.apimachinery.resource import DEPLOYMENTS, NODES, PODS, Resource
from kubeloop.client.api import APPLY, STRATEGIC, Api
from kubeloop.client.transport import Request
from tests.testkit.scripted import Answer, Script, events_answer, json_answer, status_answer

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
POD = {"metadata": {"name": "web", "namespace": "default"}}


def send(call: Callable[[Api], Awaitable[Any]], answer: Answer | None = None) -> tuple[Request, Any]:
    """The request that `call` made, and what it returned."""
    script = Script([answer or json_answer({})])
    result = asyncio.run(_await(call(Api("http://x/", script, token="secret", user_agent="test"))))
    return script.requests[0], result


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda api: api.get(PODS, "web", "default"), "GET /api/v1/namespaces/default/pods/web"),
        (lambda api: api.get(NODES, "n1"), "GET /api/v1/nodes/n1"),
        (
            lambda api: api.get(CLUSTER_ROLES, "a?b #ä"),
            "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Fb%20%23%C3%A4",
        ),
        (
            lambda api: api.list(PODS, label_selector="a in (b,c)", limit=5),
            "GET /api/v1/pods?labelSelector=a+in+%28b%2Cc%29&limit=5",
        ),
        (lambda api: api.create(PODS, POD, dry_run=True), "POST /api/v1/namespaces/default/pods?dryRun=All"),
        (
            lambda api: api.create(PODS, {}, "default", name="web", subresource="binding"),
            "POST /api/v1/namespaces/default/pods/web/binding",
        ),
        (lambda api: api.update(PODS, POD, subresource="status"), "PUT /api/v1/namespaces/default/pods/web/status"),
        (
            lambda api: api.patch(DEPLOYMENTS, "web", {}, "default", patch_type=APPLY, field_manager="me", force=True),
            "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me&force=true",
        ),
        (
            lambda api: api.apply(PODS, POD, field_manager="me", force=True, subresource="status"),
            "PATCH /api/v1/namespaces/default/pods/web/status?fieldManager=me&force=true",
        ),
    ],
)
def test_where_a_request_goes(call: Callable[[Api], Awaitable[Any]], expected: str) -> None:
    """Verb, path and query of each method; whatever may stand in a name is encoded."""
    request, _ = send(call)

    assert expected == f"{request.method} {request.target}"


def test_every_request_says_who_sends_it() -> None:
    """Token and user agent go along, and the media type of a patch says its kind."""
    request, _ = send(lambda api: api.patch(PODS, "web", {"a": 1}, "default", patch_type=STRATEGIC))

    assert {
        "Accept": "application/json",
        "User-Agent": "test",
        "Authorization": "Bearer secret",
        "Content-Type": STRATEGIC,
    } == dict(request.headers)
    assert b'{"a":1}' == request.body


def test_a_delete_carries_its_options() -> None:
    """Policy, grace period (zero, too) and preconditions travel in the body."""
    request, _ = send(
        lambda api: api.delete(PODS, "web", "default", propagation_policy="Orphan", grace_period_seconds=0, uid="u1")
    )

    assert {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u1"},
    } == orjson.loads(request.body)


def test_listed_objects_say_what_they_are() -> None:
    """The client adds the kind and apiVersion that built-in items come without, and `items: null` is empty."""
    _, page = send(lambda api: api.list(DEPLOYMENTS), json_answer({"items": [{"metadata": {"name": "web"}}]}))
    _, empty = send(lambda api: api.list(DEPLOYMENTS), json_answer({"items": None}))

    assert [{"metadata": {"name": "web"}, "kind": "Deployment", "apiVersion": "apps/v1"}] == page["items"]
    assert [] == empty["items"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status_answer(404, "NotFound", "gone"), NotFound),
        (status_answer(409, "Conflict", "changed"), Conflict),
        (Answer(503, [b"upstream is down"], content_type="text/plain"), ServiceUnavailable),
    ],
)
def test_a_refusal_is_raised_as_what_it_is(answer: Answer, error: type[Exception]) -> None:
    """A Status becomes its class; any other error body at least the class of its code."""
    with pytest.raises(error):
        send(lambda api: api.get(PODS, "web", "default"), answer)


def test_other_answers_are_text() -> None:
    """What is no JSON (logs, /healthz) comes back as text."""
    _, text = send(lambda api: api.request("GET", "/healthz"), Answer(200, [b"ok"], content_type="text/plain"))

    assert "ok" == text


def test_a_cut_ends_a_watch_quietly() -> None:
    """The iterator ends after the last whole event; resuming is the caller's business."""
    pod = {"metadata": {"name": "web", "resourceVersion": "7"}}

    async def watch() -> list[str]:
        api = Api("http://x", Script([events_answer(("ADDED", pod), is_cut=True)]))
        async with aclosing(api.watch(PODS, "default", resource_version="5")) as events:
            return [event.type async for event in events]

    assert ["ADDED"] == asyncio.run(watch())


def test_a_watch_from_a_forgotten_version_is_expired() -> None:
    """The answer 410 is raised as Expired at the first step."""

    async def watch() -> None:
        api = Api("http://x", Script([status_answer(410, "Gone", "too old resource version")]))
        async with aclosing(api.watch(PODS, resource_version="1")) as events:
            async for _ in events:
                pass

    with pytest.raises(Expired, match="too old"):
        asyncio.run(watch())


def test_metadata_is_asked_for_by_its_media_type() -> None:
    """Get and watch ask for one PartialObjectMetadata, lists for a list; what comes is of the object's own kind.

    A server that knows no such thing sends whole objects: the rest is left out here.
    """
    whole = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}, "spec": {"nodeName": "n1"}}
    bare = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}}

    request, found = send(lambda api: api.get(PODS, "web", "default", metadata_only=True), json_answer(whole))
    list_request, page = send(lambda api: api.list(PODS, metadata_only=True), json_answer({"items": [whole]}))

    assert "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" == request.headers["Accept"]
    assert "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" == list_request.headers["Accept"]
    assert bare == found
    assert [bare] == page["items"]


def test_an_apply_says_what_it_applies() -> None:
    """The media type of an apply; kind and apiVersion are added where the object does not say them."""
    request, _ = send(lambda api: api.apply(PODS, {"metadata": {"name": "web"}}, field_manager="me"))

    assert APPLY == request.headers["Content-Type"]
    assert {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}} == orjson.loads(request.body)


def test_a_token_that_changes_is_asked_for_each_time() -> None:
    """A function in the place of the token: what it says at that moment goes along."""
    tokens = iter(("old", "new"))

    async def main() -> list[str]:
        script = Script([json_answer({}), json_answer({})])
        api = Api("http://x", script, lambda: next(tokens))
        for _ in range(2):
            await api.get(PODS, "web", "default")
        return [request.headers["Authorization"] for request in script.requests]

    assert ["Bearer old", "Bearer new"] == asyncio.run(main())
