"""Custom objects that are stored in other versions than they used to be."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.testing.cluster import Cluster
from tests.testkit.conversion_hook import CLIENT, Hook, change_definition, events, get, with_hook
from tests.testkit.converting import DEFINITIONS, NAME, NEW, OLD, a_definition, a_route


def test_objects_remember_the_version_they_were_stored_in() -> None:
    """When another version is to be stored, old objects are converted as they are read, and stay as they are."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[Object, Object, Object]:
        made = await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        await change_definition(cluster, a_definition("v1", CLIENT))
        new = await get(cluster, NEW)
        definition = await cluster.api.get(DEFINITIONS, NAME)
        assert made["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]
        return new, await get(cluster, OLD), definition["status"]

    new, old, status = with_hook(check, a_definition("v1alpha1", CLIENT))

    assert {"host": "h", "port": 1, "tags": "old"} == new["spec"]
    assert ({"hostPort": "h:1", "note": "old"}, None) == (old["spec"], old["metadata"].get("labels"))
    assert ["v1alpha1", "v1"] == status["storedVersions"]


def test_writing_an_object_unchanged_migrates_it() -> None:
    """A PUT of what was read brings it into the version that is stored now, once; then no webhook is needed to read."""

    async def check(cluster: Cluster, hook: Hook) -> list[str]:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        await change_definition(cluster, a_definition("v1", CLIENT))
        shown = await get(cluster, NEW)
        migrated = await cluster.api.update(NEW, shown)
        again = await cluster.api.update(NEW, migrated)
        hook.is_down = True
        return [obj["metadata"]["resourceVersion"] for obj in (shown, migrated, again, await get(cluster, NEW))]

    first, migrated, *later = with_hook(check, a_definition("v1alpha1", CLIENT))

    assert first != migrated
    assert [migrated, migrated] == later


def test_the_version_survives_a_restart() -> None:
    """A server that starts anew over the same storage converts what the one before stored in another version."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        await change_definition(cluster, a_definition("v1", CLIENT))
        await cluster.stop_server()
        await cluster.start_server()
        return await get(cluster, NEW)

    new = with_hook(check, a_definition("v1alpha1", CLIENT))

    assert {"host": "h", "port": 1, "tags": "old"} == new["spec"]


def test_a_version_that_is_gone_cannot_be_read() -> None:
    """Objects left behind in a version that the definition no longer has are refused, as upstream does."""

    async def check(cluster: Cluster, hook: Hook) -> str:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        await change_definition(cluster, a_definition("v1", CLIENT))
        definition = await cluster.api.get(DEFINITIONS, NAME)
        await cluster.api.update(
            DEFINITIONS,
            {**definition, "status": {**definition["status"], "storedVersions": ["v1"]}},
            subresource="status",
        )
        versions = [v for v in a_definition()["spec"]["versions"] if v["name"] == "v1"]
        await cluster.patch(definition, {"spec": {"versions": versions}}, DEFINITIONS)
        await cluster.settled()
        with pytest.raises(ApiError) as caught:
            await get(cluster, NEW)
        return caught.value.message

    expected = "request to convert CR from an invalid group/version: example.com/v1alpha1"
    assert expected == with_hook(check, a_definition("v1alpha1", CLIENT))


def test_a_definition_goes_with_its_objects_where_its_stored_version_is_not_served() -> None:
    """They are deleted in the version they are stored in, for which nobody need be asked."""

    async def check(cluster: Cluster, hook: Hook) -> None:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        hook.is_down = True
        await cluster.api.delete(DEFINITIONS, NAME)

        async def is_gone() -> bool:
            try:
                await cluster.api.get(DEFINITIONS, NAME)
            except NotFound:
                return True
            return False

        await cluster.eventually(is_gone)

    with_hook(check, a_definition("v1", CLIENT, v1={"served": False}))


def test_discovery_tells_the_stored_version_by_a_hash() -> None:
    """Both versions have that of the stored one, another after it changed, and none where that is not served."""

    async def check(cluster: Cluster, hook: Hook) -> list[list[str]]:
        seen = [await hashes(cluster, OLD, NEW)]
        await change_definition(cluster, a_definition("v1", CLIENT))
        seen.append(await hashes(cluster, OLD, NEW))
        await change_definition(cluster, a_definition("v1", CLIENT, v1={"served": False}))
        return [*seen, await hashes(cluster, OLD)]

    old, new, unserved = with_hook(check, a_definition("v1alpha1", CLIENT))

    assert [["6PP2dsVfI58="] * 2, ["Vjmtpge9ZzI="] * 2, [""]] == [old, new, unserved]


async def hashes(cluster: Cluster, *resources: Resource) -> list[str]:
    listed = [await cluster.api.request("GET", f"/apis/{resource.api_version}") for resource in resources]
    return [
        next(r for r in page["resources"] if r["name"] == "routes").get("storageVersionHash", "") for page in listed
    ]


def test_a_deprecated_version_names_the_one_to_use() -> None:
    """The best of the served ones that are better; the definition may say something else instead."""

    async def check(cluster: Cluster, hook: Hook) -> list[str]:
        told = [await warning(cluster, OLD)]
        deprecated = {"deprecated": True, "deprecationWarning": "use routes of today"}
        await change_definition(cluster, a_definition("v1", CLIENT, v1alpha1=deprecated))
        told.append(await warning(cluster, OLD))
        await change_definition(cluster, a_definition("v1", CLIENT, v1={"deprecated": True}))
        return [*told, await warning(cluster, NEW)]

    assert [
        '299 - "example.com/v1alpha1 Route is deprecated; use example.com/v1 Route"',
        '299 - "use routes of today"',
        '299 - "example.com/v1 Route is deprecated"',
    ] == with_hook(check, a_definition("v1", CLIENT, v1alpha1={"deprecated": True}))


async def warning(cluster: Cluster, resource: Resource) -> str:
    async with httpx.AsyncClient(transport=cluster.transport("reader"), base_url="http://localhost") as client:
        answer = await client.get(f"/apis/{resource.api_version}/namespaces/default/routes")
        return str(answer.headers["warning"])


def test_a_version_that_is_served_no_more_ends_its_watches_and_keeps_its_objects() -> None:
    """It is not found from then on; the other version goes on showing what was written in it."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        watching = asyncio.create_task(events(cluster, OLD, 100))
        await change_definition(cluster, a_definition("v1", CLIENT, v1alpha1={"served": False}))
        assert ["ADDED"] == [event.type for event in await watching]
        with pytest.raises(NotFound):
            await get(cluster, OLD)
        return await get(cluster, NEW)

    assert {"host": "h", "port": 1, "tags": "old"} == with_hook(check)["spec"]


def test_managers_of_a_version_that_is_served_no_more_keep_their_fields() -> None:
    """Their entries are converted like those of any other version of the definition."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        await change_definition(cluster, a_definition("v1", CLIENT, v1alpha1={"served": False}))
        return await cluster.api.patch(NEW, "a", {"spec": {"replicas": 1}}, "default", field_manager="other")

    entries = with_hook(check)["metadata"]["managedFields"]

    assert [("example.com/v1alpha1", ["f:hostPort", "f:note"]), ("example.com/v1", ["f:replicas"])] == [
        (entry["apiVersion"], [name for name in entry["fieldsV1"]["f:spec"] if name != "."]) for entry in entries
    ]


def test_managers_of_a_version_that_is_gone_are_forgotten() -> None:
    """Apply goes on where the definition dropped a version in which somebody owned fields."""

    async def check(cluster: Cluster, hook: Hook) -> Object:
        await cluster.create(a_route(resource=OLD, hostPort="h:1"), OLD)
        versions = [v for v in a_definition("v1")["spec"]["versions"] if v["name"] == "v1"]
        await cluster.patch(a_definition(), {"spec": {"versions": versions}}, DEFINITIONS)
        await cluster.settled()
        config = {**a_route(host="n"), "metadata": {"name": "a"}}
        apply = "application/apply-patch+yaml"
        return await cluster.api.patch(NEW, "a", config, "default", patch_type=apply, field_manager="one")

    entries = with_hook(check)["metadata"]["managedFields"]

    assert [("one", "example.com/v1")] == [(entry["manager"], entry["apiVersion"]) for entry in entries]
