"""Watches of custom objects that a webhook converts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from kubeloop.apimachinery.errors import InternalError
from kubeloop.apimachinery.meta import Object
from kubeloop.client.watching import WatchEvent
from kubeloop.testing.cluster import Cluster
from tests.testkit.conversion_hook import CLIENT, Hook, change_definition, events, patch, with_hook
from tests.testkit.converting import NEW, OLD, a_definition, a_route, converted


def test_watchers_of_the_other_version_see_every_change_once_in_order() -> None:
    """Created, changed, deleted: each as the version shows it, at the revision of the change, and one call for all."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[list[list[WatchEvent]], list[tuple[str, int]]]:
        page = await cluster.api.list(OLD, "default")
        version = page["metadata"]["resourceVersion"]
        watching = [asyncio.create_task(events(cluster, OLD, 6, version)) for _ in range(50)]
        await cluster.create(a_route(host="h", port=0), NEW)
        for port in (1, 2, 3, 4):
            await patch(cluster, NEW, {"spec": {"port": port}})
        await cluster.api.delete(NEW, "a", "default")
        return list(await asyncio.gather(*watching)), hook.asked

    seen, asked = with_hook(check)

    first = seen[0]
    assert all(one == first for one in seen)
    assert ["ADDED", *["MODIFIED"] * 4, "DELETED"] == [event.type for event in first]
    assert [f"h:{port}" for port in (0, 1, 2, 3, 4, 4)] == [event.object["spec"]["hostPort"] for event in first]
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in first]
    assert sorted(set(versions)) == versions
    assert 5 == sum(number for _, number in asked)


def test_a_watch_selects_by_what_the_version_shows() -> None:
    """An object comes and goes as its field in this version changes."""

    async def check(cluster: Cluster, hook: Hook) -> list[str]:
        watching = asyncio.create_task(events(cluster, OLD, 3, field_selector="spec.hostPort=h:1"))
        await cluster.create(a_route(host="h", port=1), NEW)
        await cluster.create(a_route("b", host="other"), NEW)
        await patch(cluster, NEW, {"spec": {"replicas": 2}})
        await patch(cluster, NEW, {"spec": {"port": 2}})
        return [event.type for event in await watching]

    assert ["ADDED", "MODIFIED", "DELETED"] == with_hook(check)


def test_a_watch_ends_with_an_error_where_conversion_fails() -> None:
    """What came before is shown first; the client resumes behind it when the webhook is back, and misses nothing."""

    async def check(cluster: Cluster, hook: Hook) -> tuple[list[str], str, list[str]]:
        seen: list[WatchEvent] = []

        async def watch(version: str) -> None:
            async with aclosing(cluster.api.watch(OLD, "default", resource_version=version)) as stream:
                async for event in stream:
                    seen.append(event)

        page = await cluster.api.list(OLD, "default")
        watching = asyncio.create_task(watch(page["metadata"]["resourceVersion"]))
        for name in "ab":
            await cluster.create(a_route(name, host=name), NEW)
        await cluster.eventually(lambda: len(seen) == 2)
        hook.convert = poisoned("d")
        await asyncio.gather(*(cluster.create(a_route(name, host=name), NEW) for name in "cde"))
        with pytest.raises(InternalError) as caught:
            await watching
        before = [event.object["metadata"]["name"] for event in seen]
        hook.convert = converted
        after = await events(cluster, OLD, 2, seen[-1].object["metadata"]["resourceVersion"])
        return before, caught.value.message, [event.object["metadata"]["name"] for event in after]

    before, text, after = with_hook(check)

    assert (["a", "b", "c"], ["d", "e"]) == (before, after)
    assert text.startswith(
        "Internal error occurred: conversion webhook for example.com/v1, Kind=Route returned invalid"
    )


def poisoned(name: str) -> Callable[[Object, str], Object]:
    def convert(route: Object, to: str) -> Object:
        made = converted(route, to)
        return {**made, "kind": "Other"} if made["metadata"]["name"] == name else made

    return convert


def test_a_changed_definition_shows_in_old_events() -> None:
    """A watch that goes back to before the change is shown objects as the definition has them now."""

    async def check(cluster: Cluster, hook: Hook) -> list[Object]:
        await cluster.create(a_route(host="h", port=1), NEW)
        before = await events(cluster, OLD, 1, "1")
        definition = a_definition("v1", CLIENT)
        for version in definition["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("hostPort", None)
            version.pop("selectableFields")
        await change_definition(cluster, definition)
        after = await events(cluster, OLD, 1, "1")
        return [event.object["spec"] for event in (*before, *after)]

    assert [{"hostPort": "h:1"}, {}] == with_hook(check)


def test_what_a_gone_kind_remembered_is_let_go() -> None:
    """However often a definition changes, there are the stores of its newest kinds only."""

    async def check(cluster: Cluster, hook: Hook) -> list[int]:
        numbers = []
        for size in range(3):
            await change_definition(cluster, a_definition("v1", CLIENT, v1alpha1={"deprecated": bool(size % 2)}))
            await cluster.list(OLD, "default")
            await patch(cluster, NEW, {"spec": {"port": 1}}) if size else await cluster.create(a_route(host="h"), NEW)
            numbers.append(len(cluster.server.registry._stores))
        return numbers

    assert 1 == len(set(with_hook(check)))
