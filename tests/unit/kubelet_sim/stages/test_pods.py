"""Pods that go through stages, in an in-process cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubelet_sim.stages.model import POD, Stage
from kubelet_sim.stages.sources import read_text, stages_of
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, PODS
from kubeloop.client.transport import Request, Response
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from kubeloop.testing.faults.answers import refusal
from kubeloop.testing.faults.fault import Fault, Layer, Send, Site
from tests.unit.kubelet_sim.stages.stage import a_stage, where
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running, writes_to

PAGE = Path(__file__).resolve().parents[4] / "docs/stages.md"
OF_THE_PAGE = [
    stage for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) for stage in read_text(text)
]
OF_PODS = tuple(stage for stage in OF_THE_PAGE if stage.ref.kind == POD)
GOES = where(".metadata.deletionTimestamp", "Exists")


def run_stages(stages: tuple[Stage, ...], check: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    async def with_nodes(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await check(cluster)

    run_nodes(with_nodes, nodes=1, stages=stages)


def test_a_pod_goes_through_the_stages_of_the_page() -> None:
    """It runs after its delay, with an event and an address, ends as the next stage says, and goes when deleted."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0", restartPolicy="Never").labels(life="quick"))
        status = (await cluster.eventually(partial(running, cluster, pod)))["status"]
        assert ("Running", True) == (status["phase"], status["podIP"].startswith("10."))
        assert {"QuickStart"} == {event["reason"] for event in await cluster.list(EVENTS)} - {"Starting"}
        await cluster.clock.sleep(8)
        assert "Succeeded" == (await cluster.read(pod))["status"]["phase"]
        await cluster.delete(pod)
        await cluster.clock.sleep(3)
        assert [] == await cluster.list(PODS)

    run_stages(OF_PODS, check)


def test_other_pods_live_as_before() -> None:
    """Those whose labels no stage asks for."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(partial(running, cluster, pod))
        assert "PodScheduled" in [one["type"] for one in conditions_of(await cluster.read(pod))]

    run_stages(OF_PODS, check)


def test_nothing_is_done_twice() -> None:
    """One write brings a pod into a stage, and a pod that matches none is left alone."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0").labels(life="quick"))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(60)
        assert 1 == len(writes_to(cluster, "/pods/web/status"))

    run_stages(OF_PODS, check)


def test_stages_that_undo_each_other_do_not_spin() -> None:
    """Without a delay a stage is entered again after a second; one that a pod was never in, at once."""
    to = {reason: {"statusTemplate": f"reason: {reason}"} for reason in ("There", "Back")}
    stages = (
        a_stage("there", to["There"], selector=where(".status.reason", "NotIn", "There")),
        a_stage("back", to["Back"], selector=where(".status.reason", "In", "There")),
    )

    async def check(cluster: Cluster) -> None:
        await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(0.9)
        assert 2 == len(writes_to(cluster, "/pods/web/status"))
        await cluster.clock.sleep(10)
        assert 20 <= len(writes_to(cluster, "/pods/web/status")) <= 22

    run_stages(stages, check)


def test_stages_change_finalizers_and_delete() -> None:
    """The pod is gone although somebody had held it."""
    stages = (a_stage("release", {"finalizers": {"empty": True}, "delete": True}, selector=GOES),)

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0").finalizers("example.com/held"))
        await cluster.delete(pod)
        await cluster.clock.sleep(3)
        assert [] == await cluster.list(PODS)

    run_stages(stages, check)


def test_a_status_that_is_refused_is_told_of() -> None:
    """As an event of the pod; the nodes play on."""
    selector = {"matchLabels": {"life": "odd"}}
    stages = (a_stage("odd", {"statusTemplate": "- not a mapping"}, selector=selector),)

    async def check(cluster: Cluster) -> None:
        await cluster.create(pod_on("node-0", "odd").labels(life="odd"))
        other = await cluster.create(pod_on("node-0", "other"))
        await cluster.eventually(partial(running, cluster, other))
        messages = [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "InvalidStage"]
        assert ["stage odd: the template gives no mapping"] == messages
        assert is_true(conditions_of(await cluster.read(other)), "Ready")

    run_stages(stages, check)


async def phases(cluster: Cluster, pod: Object) -> list[str]:
    """All that were written, in their order."""
    writes = writes_to(cluster, f"/pods/{pod['metadata']['name']}/status")
    return [write.body["status"]["phase"] for write in writes if "phase" in write.body["status"]]


def test_the_set_fast_is_fast() -> None:
    """A pod runs with its sidecar at once, one of a Job succeeds at once, and a deleted one is gone at once."""

    async def check(cluster: Cluster) -> None:
        inits = [{"name": "once", "image": "i"}, {"name": "beside", "image": "i", "restartPolicy": "Always"}]
        pod = await cluster.create(pod_on("node-0", initContainers=inits, readinessGates=[{"conditionType": "a/b"}]))
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u"}}
        worker = await cluster.create(pod_on("node-0", "worker").owned_by(job))
        await cluster.clock.sleep(0.5)
        status = (await cluster.read(pod))["status"]
        assert ["terminated", "running"] == [next(iter(one["state"])) for one in status["initContainerStatuses"]]
        assert [{"ip": status["podIP"]}] == status["podIPs"]
        assert status["hostIP"] == (await ready_nodes(cluster, 1))[0]["status"]["addresses"][0]["address"]
        assert all(is_true(conditions_of({"status": status}), one) for one in ("Ready", "Initialized", "a/b"))
        assert ["Running", "Succeeded"] == await phases(cluster, worker)
        await cluster.delete(pod)
        await cluster.clock.sleep(0.5)
        assert ["worker"] == [one["metadata"]["name"] for one in await cluster.list(PODS)]

    run_stages(tuple(stages_of(["fast"])), check)


def test_the_set_general_goes_step_by_step() -> None:
    """Created, init containers run and end, ready, and stopped, with an event each where kwok's has one."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0", initContainers=[{"name": "init", "image": "i"}]))
        seen = []

        async def is_ready() -> bool:
            status = (await cluster.read(pod))["status"]
            states = [next(iter(one["state"])) for one in status.get("initContainerStatuses") or ()]
            if states and states not in seen:
                seen.append(states)
            return is_true(conditions_of({"status": status}), "Ready")

        await cluster.eventually(is_ready)
        assert [["waiting"], ["running"], ["terminated"]] == seen
        await cluster.delete(pod)
        await cluster.clock.sleep(1)
        assert [pod["metadata"]["name"]] == [one["metadata"]["name"] for one in await cluster.list(PODS)]
        await cluster.clock.sleep(31)
        assert [] == await cluster.list(PODS)
        reasons = {event["reason"] for event in await cluster.list(EVENTS)}
        assert {"Created", "Started", "Killing"} <= reasons

    run_stages(tuple(stages_of(["general"])), check)


@pytest.mark.parametrize("which", ["pod-container-running-failed", "pod-init-container-running-failed"])
def test_the_set_chaos_breaks_what_asks_for_it(which: str) -> None:
    """By a label, with the reason and exit code that its annotations say; other pods run."""

    async def check(cluster: Cluster) -> None:
        said = {f"{which}.stage.kwok.x-k8s.io/{word}": value for word, value in (("reason", "Why"), ("exit-code", "7"))}
        breaks = pod_on("node-0", "breaks", initContainers=[{"name": "init", "image": "i"}]).annotations(said)
        breaks["metadata"]["labels"] = {f"{which}.stage.kwok.x-k8s.io": "true"}
        await cluster.create(breaks)
        other = await cluster.create(pod_on("node-0", "other"))
        await cluster.eventually(partial(running, cluster, other))
        await cluster.clock.sleep(30)
        status = (await cluster.read(breaks))["status"]
        statuses = status["initContainerStatuses" if "init" in which else "containerStatuses"]
        ended = statuses[0]["state"]["terminated"]
        assert ("Failed", "Why", 7) == (status["phase"], ended["reason"], ended["exitCode"])

    run_stages(tuple(stages_of(["chaos"])), check)


def test_a_delay_goes_on_while_other_things_change() -> None:
    """A label that no stage asks for does not begin it anew; one that brings another stage into play does."""
    stages = (
        a_stage("slow", {"event": {"reason": "Slow"}}, delay={"durationMilliseconds": 10_000}),
        a_stage("urgent", {"event": {"reason": "Urgent"}}, selector={"matchLabels": {"urgent": "1"}}, weight=1),
    )

    async def check(cluster: Cluster) -> None:
        async def told() -> set[str]:
            return {event["reason"] for event in await cluster.list(EVENTS)} & {"Slow", "Urgent"}

        pod = await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(6)
        await cluster.api.patch(PODS, "web", {"metadata": {"labels": {"other": "1"}}}, "default")
        await cluster.clock.sleep(5)
        assert {"Slow"} == await told()
        await cluster.delete(pod)
        await cluster.create(pod_on("node-0", "next"))
        await cluster.clock.sleep(6)
        await cluster.api.patch(PODS, "next", {"metadata": {"labels": {"urgent": "1"}}}, "default")
        await cluster.clock.sleep(1)
        assert {"Slow", "Urgent"} == await told()

    run_stages(stages, check)


def test_steps_are_taken_in_order_and_once() -> None:
    """Patches of every type, events between them, and another object."""
    steps = [
        {"event": {"reason": "First"}},
        {"patch": {"root": "metadata", "template": "annotations: {merged: yes-it-is}", "type": "merge"}},
        {"patch": {"type": "json", "root": "metadata", "template": "- {op: add, path: /labels, value: {json: '1'}}"}},
        {"patch": {"root": "status", "subresource": "status", "template": "reason: Staged"}},
        {
            "apply": {
                "template": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .metadata.name }}'}, data: {a: b}}"
            }
        },
        {"event": {"reason": "Last"}},
    ]
    selector = where(".status.reason", "DoesNotExist")

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(5)
        current = await cluster.read(pod)
        assert ("yes-it-is", {"json": "1"}) == (
            current["metadata"]["annotations"]["merged"],
            current["metadata"]["labels"],
        )
        assert "Staged" == current["status"]["reason"]
        made = await cluster.read({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**pod["metadata"]}})
        assert {"a": "b"} == made["data"]
        assert 1 == len(writes_to(cluster, "/configmaps/web"))
        reasons = [event["reason"] for event in await cluster.list(EVENTS)]
        assert [1, 1] == [reasons.count("First"), reasons.count("Last")]

    run_stages((a_stage("many", selector=selector, steps=steps),), check)


def test_a_step_that_failed_is_tried_again_and_those_before_it_are_not() -> None:
    """The API server fails for a while in the middle of a stage."""
    steps = [
        {"patch": {"root": "metadata", "template": "annotations: {done: first}"}},
        {"patch": {"root": "status", "subresource": "status", "template": "reason: Staged"}},
    ]
    selector = {"matchExpressions": [{"cel": {"expression": "!has(self.metadata.annotations)"}}]}

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.clock.sleep(10)
        current = await cluster.read(pod)
        assert ("first", "Staged") == (current["metadata"]["annotations"]["done"], current["status"].get("reason"))
        assert 1 == len([one for one in writes_to(cluster, "/pods/web") if one.target.endswith("/web")])

    settings = Settings(nodes=1, stages=(a_stage("two", selector=selector, steps=steps),))
    loop = a_loop(partial(simulator.add_to, settings=settings))
    run_cluster(check, processes={KUBELET: loop}, faults={KUBELET: (_Fails("/pods/web/status", 3),)})


@dataclass(frozen=True)
class _Fails(Fault):
    """The first requests to such a target are answered 500."""

    part: str
    times: int

    def layer(self, site: Site) -> Layer:
        return _Failing(site, self)


class _Failing(Layer):
    def __init__(self, site: Site, fault: _Fails) -> None:
        super().__init__(site)
        self._part, self._left = fault.part, fault.times

    async def send(self, request: Request, pass_on: Send) -> Response:
        if self._part in request.target and self._left:
            self._left -= 1
            return refusal(500, "InternalError", "not now")
        return await pass_on(request)


def test_a_pod_that_is_given_back_lives_on_as_it_is() -> None:
    """It keeps its address, and its containers run as the stage said."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0").labels(life="quick"))
        before = await cluster.eventually(partial(running, cluster, pod))
        await cluster.api.patch(PODS, "web", {"metadata": {"labels": {"life": None}}}, "default")
        await cluster.clock.sleep(5)
        after = await cluster.read(pod)
        assert before["status"]["podIP"] == after["status"]["podIP"]
        assert before["status"]["containerStatuses"][0]["state"] == after["status"]["containerStatuses"][0]["state"]
        await cluster.delete(pod)
        await cluster.clock.sleep(3)
        assert [] == await cluster.list(PODS)

    run_stages(OF_PODS, check)
