"""Custom objects in versions that a webhook converts: what each shows, what it takes, and what that costs."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import httpx
import orjson
import pytest

from kubeloop.apimachinery.errors import Conflict, Invalid
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.testing.cluster import Cluster
from tests.testkit.conversion_hook import Hook, get, patch, with_hook
from tests.testkit.converting import NEW, OLD, a_route

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"


def test_each_version_reads_and_writes_what_the_other_wrote() -> None:
    """An object made in one version is stored in another, with the defaults of both, and shown in each as it is."""

    async def check(cluster: Cluster, hook: Hook) -> list[Object]:
        made = await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        return [made, await get(cluster, OLD), await get(cluster, NEW)]

    made, old, new = with_hook(check)

    assert made == old
    assert ("example.com/v1alpha1", {"hostPort": "h:1", "note": "old"}) == (old["apiVersion"], old["spec"])
    assert ("example.com/v1", {"host": "h", "port": 1, "tags": "old"}) == (new["apiVersion"], new["spec"])
    assert [old["metadata"][f] for f in ("uid", "resourceVersion")] == [
        new["metadata"][f] for f in ("uid", "resourceVersion")
    ]


def test_a_review_is_as_the_real_server_sends_it() -> None:
    """It has a uid, the version wanted and whole objects, without the resourceVersion that storage does not know."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(host="h"), NEW)
        await get(cluster, OLD)
        (review,) = hook.reviews
        return review

    review = with_hook(check)
    (route,) = review["request"].pop("objects")

    assert 36 == len(review["request"].pop("uid"))
    assert {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"desiredAPIVersion": "example.com/v1alpha1"},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    } == review
    assert ("example.com/v1", "Route", {"host": "h", "port": 80}) == (route["apiVersion"], route["kind"], route["spec"])
    assert "resourceVersion" not in route["metadata"]


def test_the_stored_version_asks_nobody() -> None:
    """Creating, changing, listing and deleting in the stored version need no webhook."""

    async def check(cluster: Cluster, hook: Hook) -> list[tuple[str, int]]:
        hook.is_down = True
        await cluster.create(a_route(host="h"), NEW)
        await patch(cluster, NEW, {"spec": {"port": 2}})
        await cluster.list(NEW, "default")
        await cluster.api.delete(NEW, "a", "default")
        return hook.asked

    assert [] == with_hook(check)


def test_a_list_is_one_review_and_the_next_one_none() -> None:
    """However many objects; what was converted is remembered until it changes."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[int, list[list[tuple[str, int]]]]:
        for i in range(20):
            await cluster.create(a_route(f"r{i:02}", host=f"h{i}"), NEW)
        found, asked = await cluster.list(OLD, "default"), [hook.asked]
        await cluster.list(OLD, "default")
        asked.append(hook.asked)
        await cluster.api.patch(NEW, "r03", {"spec": {"port": 9}}, "default")
        await cluster.list(OLD, "default")
        return len(found), [*asked, hook.asked]

    assert (20, [[(OLD.api_version, 20)], [], [(OLD.api_version, 1)]]) == with_hook(check)


def test_readers_at_once_share_a_review() -> None:
    """A hundred who want the same object wait for the first."""

    async def check(cluster: Cluster, hook: Hook) -> list[tuple[str, int]]:
        await cluster.create(a_route(host="h"), NEW)
        await asyncio.gather(*(get(cluster, OLD) for _ in range(100)))
        return hook.asked

    assert [(OLD.api_version, 1)] == with_hook(check)


@pytest.mark.parametrize(
    ("change", "patch_type"),
    [
        ({"spec": {"hostPort": "n:2"}}, "application/merge-patch+json"),
        ([{"op": "replace", "path": "/spec/hostPort", "value": "n:2"}], JSON_PATCH),
    ],
)
def test_patches_are_of_the_version_asked_for(change: Any, patch_type: str) -> None:
    """A patch of the old version changes what that shows; what only the new one has stays."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[Object, Object]:
        await cluster.create(a_route(host="h", port=1, replicas=3), NEW)
        patched = await patch(cluster, OLD, change, patch_type=patch_type)
        return patched, await get(cluster, NEW)

    patched, new = with_hook(check)

    assert {"hostPort": "n:2", "size": 3, "note": "old"} == patched["spec"]
    assert ({"host": "n", "port": 2, "replicas": 3, "tags": "old"}, 2) == (new["spec"], new["metadata"]["generation"])


def test_a_put_replaces_in_either_version() -> None:
    """What a version cannot say is gone after a PUT in it."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(host="h", port=1, replicas=3), NEW)
        shown = await get(cluster, OLD)
        await cluster.api.update(OLD, {**shown, "spec": {"hostPort": "n:2", "note": "t"}})
        return await get(cluster, NEW)

    assert {"host": "n", "port": 2, "tags": "t"} == with_hook(check)["spec"]


def test_validation_is_that_of_the_version_asked_for() -> None:
    """The old version takes a host that the new one finds too long, and refuses nothing of the new one's."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort=f"{'h' * 30}:1"), OLD)
        with pytest.raises(Invalid, match=r"Route.example.com \"b\" is invalid: spec.host: Too long"):
            await cluster.create(a_route("b", host="h" * 30), NEW)
        return await get(cluster, NEW)

    assert "h" * 30 == with_hook(check)["spec"]["host"]


def test_status_and_scale_are_those_of_the_version_asked_for() -> None:
    """A Scale of the old version is kept where that keeps replicas, and the status endpoint leaves the spec alone."""

    async def check(cluster: Cluster, hook: Hook) -> list[Object]:
        await cluster.create(a_route(host="h", port=1, replicas=3), NEW)
        scale = await get(cluster, OLD, subresource="scale")
        await patch(cluster, OLD, {"spec": {"replicas": 5}}, subresource="scale")
        await patch(cluster, OLD, {"status": {"phase": "Up"}, "spec": {"size": 9}}, subresource="status")
        return [scale, await get(cluster, NEW)]

    scale, new = with_hook(check)

    assert ({"replicas": 3}, {"host": "h", "port": 1, "replicas": 5}) == (scale["spec"], new["spec"])
    assert ({"phase": "Up"}, 2) == (new["status"], new["metadata"]["generation"])


def test_selectors_choose_by_what_the_version_shows() -> None:
    """Fields of each version, and labels that the webhook gives."""

    async def check(cluster: Cluster, hook: Hook) -> list[list[str]]:
        for name in "abc":
            await cluster.create(a_route(name, host=name, port=1, labels={"n": name}), NEW)
        asked = [
            (NEW, {"field_selector": "spec.host=b"}),
            (OLD, {"field_selector": "spec.hostPort=b:1"}),
            (OLD, {"field_selector": "metadata.name=c,spec.hostPort=c:1"}),
            (OLD, {"label_selector": "seen-as=v1alpha1,n in (a,b)"}),
            (NEW, {"label_selector": "seen-as"}),
            (OLD, {"label_selector": "seen-as=v1alpha1", "limit": 2}),
        ]
        pages = [await cluster.api.list(resource, "default", **selectors) for resource, selectors in asked]
        return [[name_of(item) for item in page["items"]] for page in pages]

    assert [["b"], ["b"], ["c"], ["a", "b"], [], ["a", "b"]] == with_hook(check)


def test_tables_and_metadata_are_of_the_version_asked_for() -> None:
    """The cells of a version's columns, and the labels it shows."""

    async def check(cluster: Cluster, hook: Hook) -> list[Any]:
        await cluster.create(a_route(host="h", port=1), NEW)
        path = "/apis/example.com/v1alpha1/namespaces/default/routes"
        return [await as_form(cluster, form, path) for form in ("Table", "PartialObjectMetadataList")]

    table, metadata = with_hook(check)

    assert (["Name", "Target"], ["a", "h:1"]) == (
        [column["name"] for column in table["columnDefinitions"]],
        table["rows"][0]["cells"],
    )
    assert {"seen-as": "v1alpha1"} == metadata["items"][0]["metadata"]["labels"]


async def as_form(cluster: Cluster, form: str, path: str) -> Any:
    accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
    async with httpx.AsyncClient(transport=cluster.transport("reader"), base_url="http://localhost") as client:
        return (await client.get(path, headers={"accept": accept})).json()


def test_appliers_in_two_versions_own_fields_of_both() -> None:
    """Who applies in one version conflicts with who applied in the other, over fields as that one calls them."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[str, Object]:
        new = {**a_route(host="h", port=1), "metadata": {"name": "a"}}
        old = {**a_route(resource=OLD, hostPort="n:2"), "metadata": {"name": "a"}}
        await patch(cluster, NEW, new, patch_type=APPLY, field_manager="one")
        with pytest.raises(Conflict) as caught:
            await patch(cluster, OLD, old, patch_type=APPLY, field_manager="two")
        await patch(cluster, OLD, old, patch_type=APPLY, field_manager="two", force=True)
        return caught.value.message, await get(cluster, NEW)

    text, new = with_hook(check)

    assert 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.host\n- .spec.port' == text
    owned = {(e["manager"], e["apiVersion"]): e["fieldsV1"] for e in new["metadata"]["managedFields"]}
    assert {("two", "example.com/v1alpha1"): {"f:spec": {"f:hostPort": {}}}} == {
        who: fields for who, fields in owned.items() if who[0] == "two"
    }
    assert {"host": "n", "port": 2, "tags": "old"} == new["spec"]


def test_an_applier_changes_its_version() -> None:
    """What it stated in the old version and no longer states in the new one goes; all it owns is of the new one."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        old = {**a_route(resource=OLD, hostPort="h:1", size=3), "metadata": {"name": "a"}}
        new = {**a_route(host="h", port=1), "metadata": {"name": "a"}}
        await patch(cluster, OLD, old, patch_type=APPLY, field_manager="one")
        return await patch(cluster, NEW, new, patch_type=APPLY, field_manager="one")

    new = with_hook(check)

    assert "replicas" not in new["spec"]
    assert [("one", "example.com/v1")] == [
        (e["manager"], e["apiVersion"]) for e in new["metadata"]["managedFields"] if e["operation"] == "Apply"
    ]


def test_a_dry_run_is_converted_both_ways_and_kept_nowhere() -> None:
    """It shows what a write would, and the next read shows what is."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[Object, Object]:
        await cluster.create(a_route(host="h", port=1), NEW)
        await get(cluster, OLD)
        tried = await patch(cluster, OLD, {"spec": {"hostPort": "n:2"}}, dry_run=True)
        return tried, await get(cluster, OLD)

    tried, kept = with_hook(check)

    assert ("n:2", "h:1") == (tried["spec"]["hostPort"], kept["spec"]["hostPort"])


def test_deletions_answer_in_the_version_asked_for() -> None:
    """A collection as it was found, and an object that waits for its finalizer as it waits."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[Object, Object, Object]:
        held = a_route(host="h", port=1)
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(held, NEW)
        await cluster.create(a_route("b", host="x", port=2), NEW)
        waiting = await cluster.api.delete(OLD, "a", "default")
        path = "/apis/example.com/v1alpha1/namespaces/default/routes"
        listed = await cluster.api.request("DELETE", path)
        last = await patch(cluster, OLD, {"metadata": {"finalizers": None}})
        assert [] == await cluster.list(NEW, "default")
        return waiting, listed, last

    waiting, listed, last = with_hook(check)

    assert "h:1" == waiting["spec"]["hostPort"] == last["spec"]["hostPort"]
    assert "deletionTimestamp" in waiting["metadata"]
    assert [("a", "h:1"), ("b", "x:2")] == [
        (item["metadata"]["name"], item["spec"]["hostPort"]) for item in listed["items"]
    ]


def test_an_admission_webhook_sees_the_version_it_asks_for() -> None:
    """One that knows only the new version is shown writes of the old one in it, and its patch is converted back."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[Object, Object, Object]:
        rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["routes"]}
        webhook = {
            "name": "hook.example.com",
            "clientConfig": {"url": "https://hooks.example.com/admit"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        group = Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "", namespaced=False)
        await cluster.api.create(group, {"metadata": {"name": "hook"}, "webhooks": [webhook]})
        await cluster.settled()
        operations = [{"op": "replace", "path": "/spec/port", "value": 7}]
        hook.admission = {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(operations)).decode()}
        made = await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        return hook.admitted[0], made, await get(cluster, NEW)

    asked, made, new = with_hook(check)

    assert ("v1", "v1alpha1") == (asked["kind"]["version"], asked["requestKind"]["version"])
    assert ("example.com/v1", "h", 1) == (
        asked["object"]["apiVersion"],
        asked["object"]["spec"]["host"],
        asked["object"]["spec"]["port"],
    )
    assert ("h:7", 7) == (made["spec"]["hostPort"], new["spec"]["port"])
