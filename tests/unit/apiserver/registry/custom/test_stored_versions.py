"""Custom objects that are stored in other versions than they used to be."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.cluster import Cluster
from tests.testkit.conversion_hook import CLIENT, Hook, change_definition, get, with_hook
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
