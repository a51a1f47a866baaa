"""Stage objects of the cluster, followed live, in an in-process cluster."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import yaml

from kubelet_sim.stages.definition import STAGES
from kubelet_sim.stages.sources import text_of_set
from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.errors import ApiError, Invalid
from kubeloop.apimachinery.resource import EVENTS, PODS
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.stages.stage import a_document, where
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running


def run_objects(check: Callable[[Cluster], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def with_nodes(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        await cluster.eventually(partial(kind_is_served, cluster))
        await check(cluster)

    run_nodes(with_nodes, nodes=2, follows_stages=True, **settings)


async def kind_is_served(cluster: Cluster) -> bool:
    try:
        await cluster.api.list(STAGES)
    except ApiError:
        return False
    return True


async def phase_of(cluster: Cluster, name: str) -> str:
    return (await cluster.api.get(PODS, name, "default"))["status"].get("phase", "")


def test_a_set_can_be_applied_as_objects() -> None:
    """Pods and nodes that were there before go on by the stages; once they are deleted, the default life goes on."""

    async def check(cluster: Cluster) -> None:
        early = await cluster.create(pod_on("node-0", "early"))
        await cluster.eventually(partial(running, cluster, early))
        for document in yaml.safe_load_all(text_of_set("fast")):
            await cluster.api.apply(STAGES, document, field_manager="test")
        await cluster.clock.sleep(5)
        late = await cluster.create(pod_on("node-0", "late"))
        await cluster.clock.sleep(0.5)
        assert "Running" == await phase_of(cluster, "late")
        assert "Running" == await phase_of(cluster, "early")
        assert "imageID" not in (await cluster.read(late))["status"]["containerStatuses"][0].get("image")
        for document in yaml.safe_load_all(text_of_set("fast")):
            await cluster.api.delete(STAGES, document["metadata"]["name"])
        last = await cluster.create(pod_on("node-0", "last"))
        await cluster.eventually(partial(running, cluster, last))
        reasons = {event["reason"] for event in await cluster.list(EVENTS) if event["involvedObject"]["name"] == "last"}
        assert "Pulled" in reasons
        assert await ready_nodes(cluster, 2)

    run_objects(check)


def test_a_stage_takes_effect_when_it_is_changed() -> None:
    """On a pod that waits for it already: its delay begins anew."""

    async def check(cluster: Cluster) -> None:
        following = {"statusTemplate": "phase: Succeeded"}
        stage = a_document(
            "end", following, delay={"durationMilliseconds": 3_600_000}, selector=where(".x", "DoesNotExist")
        )
        await cluster.api.create(STAGES, stage)
        await cluster.clock.sleep(1)
        await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(10)
        assert "Pending" == await phase_of(cluster, "web")
        await cluster.api.patch(STAGES, "end", {"spec": {"delay": {"durationMilliseconds": 1000}}})
        await cluster.clock.sleep(3)
        assert "Succeeded" == await phase_of(cluster, "web")

    run_objects(check)


def test_a_stage_that_cannot_be_understood_says_why() -> None:
    """In its status and an event, while it is so; the others are played."""

    async def check(cluster: Cluster) -> None:
        await cluster.api.create(STAGES, a_document("bad", {"statusTemplate": "{{ nope }}"}))
        await cluster.api.create(STAGES, a_document("good", {"statusTemplate": "phase: Failed"}))
        await cluster.clock.sleep(1)
        await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(2)
        assert "Failed" == await phase_of(cluster, "web")
        bad = await cluster.api.get(STAGES, "bad")
        condition = get_condition(conditions_of(bad), "Invalid") or {}
        assert is_true(conditions_of(bad), "Invalid")
        assert condition["message"].startswith("stage 'bad': spec.next.statusTemplate: there is no function nope")
        assert "InvalidStage" in [event["reason"] for event in await cluster.list(EVENTS)]
        await cluster.api.patch(STAGES, "bad", {"spec": {"next": {"statusTemplate": "phase: Failed"}}})
        await cluster.clock.sleep(1)
        assert [] == list(conditions_of(await cluster.api.get(STAGES, "bad")))
        assert [] == list(conditions_of(await cluster.api.get(STAGES, "good")))

    run_objects(check)


def test_the_schema_refuses_what_no_stage_can_say() -> None:
    """By the API server, in its own words."""

    async def check(cluster: Cluster) -> None:
        odd = a_document("odd", selector=where(".a", "Is"), delay={"durationMilliseconds": -1})
        try:
            await cluster.api.create(STAGES, odd)
        except Invalid as error:
            assert "spec.delay.durationMilliseconds" in error.message
            assert "operator" in error.message
        else:
            raise AssertionError("it was taken")

    run_objects(check)


def test_stages_hold_after_a_restart_from_the_first_pod_on() -> None:
    """No pod sees the default life while the nodes' process reads the Stages again."""

    async def check(cluster: Cluster) -> None:
        await cluster.api.create(
            STAGES, a_document("never", {"event": {"reason": "Never"}}, delay={"durationMilliseconds": 10**9})
        )
        await cluster.clock.sleep(1)
        await cluster.stop(KUBELET)
        await cluster.create(pod_on("node-0"))
        cluster.start(KUBELET)
        await cluster.clock.sleep(30)
        assert "Pending" == await phase_of(cluster, "web")
        assert "startTime" not in (await cluster.api.get(PODS, "web", "default"))["status"]

    run_objects(check)


def test_stages_of_stages_are_played() -> None:
    """As kwok's own test has it: a Stage that makes itself available."""

    async def check(cluster: Cluster) -> None:
        following = {"statusTemplate": "conditions: [{type: Available, status: 'True', reason: Fine, message: ''}]"}
        reference = {"apiGroup": STAGES.api_version, "kind": STAGES.kind}
        selector = {"matchAnnotations": {"try": "yes"}, **where(".status.conditions", "DoesNotExist")}
        stage = a_document("available", following, resourceRef=reference, selector=selector)
        stage["metadata"]["annotations"] = {"try": "yes"}
        await cluster.api.create(STAGES, stage)
        await cluster.clock.sleep(5)
        assert is_true(conditions_of(await cluster.api.get(STAGES, "available")), "Available")

    run_objects(check)
