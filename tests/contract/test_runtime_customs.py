"""What a controller of a custom kind does to its objects, against the real server: status, finalizers, ownership."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubeloop.apimachinery.conditions import new_condition
from kubeloop.apimachinery.errors import Conflict, Invalid
from kubeloop.apimachinery.meta import (
    Object,
    controller_of,
    finalizers_of,
    owner_references_of,
    resource_version_of,
)
from kubeloop.apimachinery.resource import CONFIG_MAPS, Resource
from kubeloop.apimachinery.selectors import from_labels
from kubeloop.runtime.finalizers import ensure_finalizer, finalize
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children, set_owner_reference
from kubeloop.runtime.result import Unfinished
from kubeloop.runtime.status import StatusWriter
from kubeloop.testing.builders import a_config_map, a_custom, a_definition
from kubeloop.testing.cluster import Cluster, run_cluster

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
FARMS = Resource("example.com", "v1", "farms", "Farm")
FINALIZER = "example.com/clean-up"


def run_with_customs(check: Callable[[Cluster, Object], Coroutine[Any, Any, None]]) -> None:
    """`check` with a Widget that exists."""

    async def main(cluster: Cluster) -> None:
        for resource in (WIDGETS, FARMS):
            assert resource == await cluster.define(a_definition(resource))
        await check(cluster, await cluster.create(a_custom(WIDGETS, "web", size=1), WIDGETS))

    run_cluster(main)


def sent(cluster: Cluster) -> list[Any]:
    """The bodies of what was written to statuses."""
    return [write.body for write in cluster.writes if write.target.endswith("/status")]


def test_a_status_is_patched_only_where_it_says_something_new() -> None:
    """The first patch says everything, the second nothing (and is not sent), the third what changed."""

    async def check(cluster: Cluster, widget: Object) -> None:
        writer = StatusWriter(cluster.api, WIDGETS, cluster.clock)
        ready = new_condition("Ready", False, "Starting", "1 of 3")
        first = await writer.patch(widget, {"replicas": 3, "parts": {"a": 1, "b": 2}}, [ready])
        assert first is await writer.patch(first, {"replicas": 3, "parts": {"a": 1}}, [ready])
        await writer.patch(first, {"parts": {"b": 3, "a": None}})
        patches = [body["status"] for body in sent(cluster)]
        assert {"replicas", "parts", "observedGeneration", "conditions"} == set(patches[0])
        assert [{"parts": {"b": 3, "a": None}}] == patches[1:]

    run_with_customs(check)


def test_a_condition_is_timed_when_it_flips() -> None:
    """The message may change without moving lastTransitionTime; other conditions stay; the generation is that seen."""

    async def check(cluster: Cluster, widget: Object) -> None:
        writer = StatusWriter(cluster.api, WIDGETS, cluster.clock)
        stalled = new_condition("Stalled", None, "Unknown")
        obj = await writer.patch(widget, conditions=[new_condition("Ready", False, "Starting", "1 of 3"), stalled])
        began = obj["status"]["conditions"][0]["lastTransitionTime"]
        await cluster.clock.sleep(60)
        obj = await writer.patch(obj, conditions=[new_condition("Ready", False, "Starting", "2 of 3")])
        assert [began] == [
            each["lastTransitionTime"] for each in obj["status"]["conditions"] if each["type"] == "Ready"
        ]
        obj = await cluster.patch({**obj}, {"spec": {"size": 2}}, WIDGETS)
        obj = await writer.patch(obj, conditions=[new_condition("Ready", True, "AllUp", "3 of 3")])
        ready, other = obj["status"]["conditions"]
        assert ("True", 2, "Stalled") == (ready["status"], ready["observedGeneration"], other["type"])
        assert 2 == obj["status"]["observedGeneration"]
        assert began < ready["lastTransitionTime"]

    run_with_customs(check)


def test_a_status_patch_on_an_old_version_is_a_conflict() -> None:
    """Somebody else may have added a condition, which the list would drop: reconcile again."""

    async def check(cluster: Cluster, widget: Object) -> None:
        theirs, writer = (StatusWriter(cluster.api, WIDGETS, cluster.clock) for _ in range(2))
        await theirs.patch(widget, conditions=[new_condition("Theirs", True, "Fine")])
        with pytest.raises(Conflict):
            await writer.patch(widget, conditions=[new_condition("Ours", True, "Fine")])
        await cluster.delete(widget, WIDGETS)
        assert widget is await writer.patch(widget, {"replicas": 1})

    run_with_customs(check)


def test_what_nobody_else_writes_is_replaced_in_spite_of_a_conflict() -> None:
    """The spec changed meanwhile: the status is written all the same, once; another object of the name is spared."""

    async def check(cluster: Cluster, widget: Object) -> None:
        own = OwnWrites()
        writer = StatusWriter(cluster.api, WIDGETS, cluster.clock, own)
        await cluster.patch(widget, {"spec": {"size": 2}}, WIDGETS)
        await writer.replace(widget, {"replicas": 1})
        fresh = await cluster.read(widget, WIDGETS)
        assert {"replicas": 1} == fresh["status"]
        assert resource_version_of(fresh) == resource_version_of(own.latest(widget))
        await cluster.delete(widget, WIDGETS)
        await cluster.create(a_custom(WIDGETS, "web"), WIDGETS)
        with pytest.raises(Conflict):
            await writer.replace(widget, {"replicas": 2})
        assert "status" not in await cluster.read(widget, WIDGETS)

    run_with_customs(check)


def test_a_reconcile_that_comes_too_early_for_the_cache_writes_nothing_twice() -> None:
    """While the cache still shows the version before, the writer builds on what it wrote: no Conflict, no repeat."""

    async def check(cluster: Cluster, widget: Object) -> None:
        own = OwnWrites()
        writer = StatusWriter(cluster.api, WIDGETS, cluster.clock, own)
        for replicas in (1, 1, 2, 2):
            await writer.patch(widget, {"replicas": replicas}, [new_condition("Ready", True, "AllUp")])
        assert 2 == len(sent(cluster))
        assert 2 == own.latest(widget)["status"]["replicas"]
        assert {"replicas": 2, "observedGeneration": 1}.items() <= (await cluster.read(widget, WIDGETS))[
            "status"
        ].items()

    run_with_customs(check)


def test_the_generation_observed_is_the_one_acted_on() -> None:
    """What was replaced on a newer version than the cache shows does not make an old spec look acted on."""

    async def check(cluster: Cluster, widget: Object) -> None:
        writer = StatusWriter(cluster.api, WIDGETS, cluster.clock)
        await cluster.patch(widget, {"spec": {"size": 2}}, WIDGETS)
        await writer.replace(widget, {"replicas": 1})
        with pytest.raises(Conflict):
            await writer.patch(widget, {"replicas": 2})

    run_with_customs(check)


def test_a_finalizer_lives_from_the_first_reconcile_to_the_end_of_the_clean_up() -> None:
    """Put on at once, kept while the clean-up fails or waits, taken off after it: then the object goes."""

    async def check(cluster: Cluster, widget: Object) -> None:
        troubles: list[Exception] = [Unfinished("the bucket is not empty yet")]
        cleaned: list[str] = []

        async def clean_up() -> None:
            cleaned.append("tried")
            if troubles:
                raise troubles.pop()

        protected = await finalize(cluster.api, WIDGETS, widget, FINALIZER, clean_up)
        assert protected is not None
        assert [FINALIZER] == finalizers_of(protected)
        await cluster.delete(widget, WIDGETS)
        leaving = await cluster.read(widget, WIDGETS)
        with pytest.raises(Unfinished):
            await finalize(cluster.api, WIDGETS, leaving, FINALIZER, clean_up)
        assert [FINALIZER] == finalizers_of(await cluster.read(widget, WIDGETS))
        assert None is await finalize(cluster.api, WIDGETS, leaving, FINALIZER, clean_up)
        assert [] == await cluster.list(WIDGETS)
        leaving["metadata"]["finalizers"] = []
        assert None is await finalize(cluster.api, WIDGETS, leaving, FINALIZER, clean_up)
        assert ["tried", "tried"] == cleaned

    run_with_customs(check)


def test_two_that_let_go_at_once_do_not_undo_each_other() -> None:
    """Both read the same version; the second gets a Conflict, and with the new version lets go as well."""

    async def check(cluster: Cluster, widget: Object) -> None:
        async def clean_up() -> None: ...

        one = await ensure_finalizer(cluster.api, WIDGETS, widget, "example.com/one")
        await ensure_finalizer(cluster.api, WIDGETS, one, "example.com/two")
        await cluster.delete(widget, WIDGETS)
        leaving = await cluster.read(widget, WIDGETS)
        await finalize(cluster.api, WIDGETS, leaving, "example.com/one", clean_up)
        with pytest.raises(Conflict):
            await finalize(cluster.api, WIDGETS, leaving, "example.com/two", clean_up)
        fresh = await cluster.read(widget, WIDGETS)
        assert ["example.com/two"] == finalizers_of(fresh)
        with pytest.raises(Invalid):
            await ensure_finalizer(cluster.api, WIDGETS, fresh, "example.com/three")
        await finalize(cluster.api, WIDGETS, fresh, "example.com/two", clean_up)
        assert [] == await cluster.list(WIDGETS)

    run_with_customs(check)


def test_custom_children_are_adopted_and_released() -> None:
    """Though custom resources take no strategic merge patches; other owners and finalizers stay."""

    async def check(cluster: Cluster, widget: Object) -> None:
        farm = await cluster.create(a_custom(FARMS, "acme"), FARMS)
        other = await cluster.create(a_config_map("other"))
        child = a_custom(WIDGETS, "orphan").labels(app="web").finalizers("example.com/theirs")
        set_owner_reference(child, other, CONFIG_MAPS)
        orphan = await cluster.create(child, WIDGETS)
        selector = from_labels({"app": "web"})
        (adopted,) = await claim_children(cluster.api, farm, FARMS, selector, [orphan, widget], WIDGETS, FINALIZER)
        assert ["other", "acme"] == [reference["name"] for reference in owner_references_of(adopted)]
        assert ["example.com/theirs", FINALIZER] == finalizers_of(adopted)
        stray = await cluster.patch(adopted, {"metadata": {"labels": {"app": "db"}}}, WIDGETS)
        assert [] == await claim_children(cluster.api, farm, FARMS, selector, [stray], WIDGETS, FINALIZER)
        released = await cluster.read(stray, WIDGETS)
        assert ["other"] == [reference["name"] for reference in owner_references_of(released)]
        assert ["example.com/theirs"] == finalizers_of(released)
        assert None is controller_of(released)

    run_with_customs(check)


def test_an_apply_of_a_status_leaves_what_others_say() -> None:
    """Where several write one status: each applies its own part, without conflicts and without reading first."""

    async def check(cluster: Cluster, widget: Object) -> None:
        for manager, status in (("one", {"a": 1}), ("two", {"b": 2}), ("one", {"c": 3})):
            part = {"metadata": {"name": "web", "namespace": "default"}, "status": status}
            await cluster.api.apply(WIDGETS, part, field_manager=manager, force=True, subresource="status")
        assert {"b": 2, "c": 3} == (await cluster.read(widget, WIDGETS))["status"]

    run_with_customs(check)
