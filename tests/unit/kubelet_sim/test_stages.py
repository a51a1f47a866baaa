"""Stages: what a file may say, and pods that go through them in an in-process cluster."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.stages.expression import StageError, path
from kubelet_sim.stages.model import FUNCTIONS, Stage, choose, read, read_file
from kubelet_sim.stages.template import Template
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, PODS
from kubeloop.apimachinery.times import parse_time
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_documented_pods import DOCUMENTS
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running, writes_to

OF_THE_PAGE = tuple(read(document) for document in DOCUMENTS if document["kind"] == "Stage")
NOW = parse_time("2026-01-01T00:00:00Z")


def a_stage(name: str = "s", following: Object | None = None, **spec: Any) -> Stage:
    reference = {"apiGroup": "v1", "kind": "Pod"}
    return read({"metadata": {"name": name}, "spec": {"resourceRef": reference, "next": following or {}, **spec}})


def render(text: str, obj: Any) -> str:
    return Template(text, FUNCTIONS).render(obj, {"Now": lambda: "now"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ .a.b }}", "x"),
        ("{{ .a.b | Quote }}", '"x"'),
        ("{{ .a.missing.more }}|", "|"),
        ("{{ $n := Now }}{{ $n }}", "now"),
        ("{{ if .yes }}1{{ else }}2{{ end }}", "1"),
        ("{{ if .no }}1{{ else if eq .a.b `x` }}2{{ else }}3{{ end }}", "2"),
        ("{{ range .list }}<{{ . }}>{{ end }}", "<1><2>"),
        ("{{ range $i, $v := .list }}{{ $i }}={{ $v }};{{ end }}", "0=1;1=2;"),
        ("{{ range .no }}x{{ else }}none{{ end }}", "none"),
        ("{{ range .list }}{{ $.a.b }}{{ end }}", "xx"),
        ("{{ with .a }}{{ .b }}{{ end }}", "x"),
        ('{{ index .a "b" }}{{ index .list 1 }}', "x2"),
        ('{{ or .no ( index ( or .none dict ) "k" ) "d" }}', "d"),
        ("{{ and .yes .a.b }} {{ not .yes }} {{ ne 1 2 }} {{ len .list }}", "x false true 2"),
        ('{{ .none | default "d" }}', "d"),
        ("a {{- /* a comment */ -}} b", "ab"),
    ],
)
def test_templates_mean_what_go_means(text: str, wanted: str) -> None:
    """The part of text/template that stages are written in."""
    assert wanted == render(text, {"a": {"b": "x"}, "yes": True, "no": False, "list": [1, 2]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ if .a }}", "is missing"),
        ("{{ end }}", "closes nothing"),
        ("{{ exec .a }}", "there is no function exec"),
        ("{{ ( .a }}", "not closed"),
        ("{{ .a ~ }}", "cannot be read"),
    ],
)
def test_templates_that_cannot_work_are_refused(text: str, why: str) -> None:
    """When they are read, not when a pod comes."""
    with pytest.raises(StageError, match=why):
        Template(text, FUNCTIONS)


def test_paths_lead_through_names_and_lists() -> None:
    """As jq writes them."""
    pod = {"metadata": {"labels": {"a.b/c": "1"}}, "status": {"containerStatuses": [{"ready": True}, {"ready": False}]}}

    assert ["1"] == path('.metadata.labels["a.b/c"]')(pod)
    assert [True, False] == path(".status.containerStatuses[].ready")(pod)
    assert [] == path(".status.phase.more")(pod)
    with pytest.raises(StageError, match="is no path"):
        path(".status | keys")


def test_stages_are_drawn_by_their_weights() -> None:
    """Where there are none, each is as likely."""
    pod = pod_on("node-0")
    weighted = [a_stage("often", weight=3), a_stage("rarely", weight=1), a_stage("never", weight=0)]
    rng = random.Random(1)

    drawn = Counter(stage.name for _ in range(400) if (stage := choose(weighted, pod, rng)))
    equal = Counter(stage.name for _ in range(400) if (stage := choose([a_stage("a"), a_stage("b")], pod, rng)))

    assert 250 < drawn["often"] < 350
    assert 0 == drawn["never"]
    assert 150 < equal["a"] < 250


@pytest.mark.parametrize(
    ("delay", "least", "most"),
    [
        ({"durationMilliseconds": 1000}, 1, 1),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 3000}, 1, 3),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 2000}, 2, 2),
        ({"durationMilliseconds": 1, "durationFrom": {"expressionFrom": '.metadata.annotations["delay"]'}}, 7, 7),
        ({"durationFrom": {"expressionFrom": '.metadata.annotations["at"]'}}, 30, 30),
    ],
)
def test_delays_are_as_in_kwok(delay: Object, least: float, most: float) -> None:
    """The jitter is the longest delay; a path of the pod goes before milliseconds."""
    pod = pod_on("node-0").annotations({"delay": "7s", "at": "2026-01-01T00:00:30Z"})

    seconds = a_stage(delay=delay).delay_seconds(pod, NOW, random.Random(1))

    assert least <= seconds <= most


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: Pod", "a document is no Stage"),
        ("kind: Stage\napiVersion: v1", "apiVersion 'v1'"),
        ("kind: Stage\napiVersion: kwok.x-k8s.io/v1alpha1\nspec: {resourceRef: {kind: Node}}", "only those of Pod"),
        ("a: [", "yaml"),
    ],
)
def test_a_file_that_cannot_be_played_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """With the reason."""
    file = tmp_path / "stages.yaml"
    file.write_text(f"---\n{text}\n")

    with pytest.raises(StageError, match=why):
        read_file(file)


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

    run_stages(OF_THE_PAGE, check)


def test_other_pods_live_as_before() -> None:
    """Those whose labels no stage asks for."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(partial(running, cluster, pod))
        assert "PodScheduled" in [one["type"] for one in conditions_of(await cluster.read(pod))]

    run_stages(OF_THE_PAGE, check)


def test_nothing_is_done_twice() -> None:
    """One write brings a pod into a stage, and a pod that matches none is left alone."""

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0").labels(life="quick"))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(60)
        assert 1 == len(writes_to(cluster, "/pods/web/status"))

    run_stages(OF_THE_PAGE, check)


def test_stages_change_finalizers_and_delete() -> None:
    """The pod is gone although somebody had held it."""
    gone = {"key": ".metadata.deletionTimestamp", "operator": "Exists"}
    stages = (
        a_stage("release", {"finalizers": {"empty": True}, "delete": True}, selector={"matchExpressions": [gone]}),
    )

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
        assert ["stage odd: the status is no mapping"] == messages
        assert is_true(conditions_of(await cluster.read(other)), "Ready")

    run_stages(stages, check)
