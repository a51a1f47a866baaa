"""Each score plugin, and how a winner is chosen."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS
from controllers.scheduler.profile import Profile
from controllers.scheduler.schedule import nodes_to_find
from kubeloop.testing.builders import a_node, a_pod, a_replica_set, a_service
from tests.unit.scheduler.scene import Scene, in_zone, near, nodes


def test_the_emptier_node_wins() -> None:
    """LeastAllocated: the mean of the free shares of cpu and memory."""
    scene = Scene(nodes("a", "b"), [a_pod("q").requests(cpu="2", memory="4Gi").on("a")])
    pod = a_pod("p").requests(cpu="1", memory="2Gi")

    assert {"a": 25, "b": 75} == scene.scores(pod, "NodeResourcesFit")
    assert "b" == scene.decide(pod).node_name


def test_pods_without_requests_count_all_the_same() -> None:
    """In scores a container that asks for nothing counts with 100m and 200Mi, so that such pods do not pile up."""
    scene = Scene(nodes("a", "b"), [a_pod(f"q{i}").on("a") for i in range(5)])

    scores = scene.scores(a_pod("p"), "NodeResourcesFit")

    assert scores["a"] < scores["b"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "MostAllocated"}, {"a": 75, "b": 25}),
        ({"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}, {"a": 25, "b": 75}),
        (
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
            {"a": 75, "b": 25},
        ),
    ],
)
def test_other_strategies(strategy: dict[str, Any], expected: dict[str, int]) -> None:
    """A profile may score by how full a node is, or by a curve of its own."""
    profile = Profile(args={"NodeResourcesFit": {"scoringStrategy": strategy}})
    scene = Scene(nodes("a", "b"), [a_pod("q").requests(cpu="2", memory="4Gi").on("a")], profile=profile)

    assert expected == scene.scores(a_pod("p").requests(cpu="1", memory="2Gi"), "NodeResourcesFit")


def test_balance_is_preferred() -> None:
    """A pod that evens out cpu and memory gains the node more than one that tilts it."""
    scene = Scene(nodes("a", "b"), [a_pod("q").requests(cpu="2").on("a"), a_pod("r").requests(memory="4Gi").on("b")])

    scores = scene.scores(a_pod("p").requests(memory="2Gi"), "NodeResourcesBalancedAllocation")

    assert {"a": 81, "b": 68} == scores


def test_preferred_node_affinity_adds_weights() -> None:
    """The node with the highest sum of weights gets 100, twice over by the plugin's weight."""
    preferred = [
        {"weight": 100, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}},
        {"weight": 50, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    scene = Scene([a_node("a").labels(disk="ssd"), a_node("b").labels(disk="hdd"), a_node("c")])

    assert {"a": 200, "b": 66, "c": 0} == scene.scores(a_pod("p").spec(affinity=affinity), "NodeAffinity")


def test_unwelcoming_taints_cost_points() -> None:
    """Untolerated PreferNoSchedule taints are counted; a node without any gets the full 3 × 100."""
    scene = Scene([a_node("a").tainted("x", "PreferNoSchedule"), a_node("b")])

    assert {"a": 0, "b": 300} == scene.scores(a_pod("p"), "TaintToleration")
    assert {"a": 300, "b": 300} == scene.scores(a_pod("p").tolerates("x", "PreferNoSchedule"), "TaintToleration")


def test_images_draw_pods() -> None:
    """A node that has a large image is preferred, the less so the fewer nodes have it."""
    held, other = a_node("a"), a_node("b")
    held["status"]["images"] = [{"names": ["web:1"], "sizeBytes": 1000 * 1024 * 1024}]
    other["status"]["images"] = [{"names": ["db:1"], "sizeBytes": 1000 * 1024 * 1024}]

    assert {"a": 48, "b": 0} == Scene([held, other]).scores(a_pod("p").image("web:1"), "ImageLocality")


def test_an_image_without_a_tag_is_the_latest() -> None:
    """`web` and `web:latest` are one image."""
    held = a_node("a")
    held["status"]["images"] = [{"names": ["web:latest"], "sizeBytes": 2000 * 1024 * 1024}]

    assert {"a": 100} == Scene([held]).scores(a_pod("p").image("web"), "ImageLocality")


def test_preferred_company() -> None:
    """Preferred pod affinity draws, preferred anti-affinity repels, both by topology."""
    scene = Scene([in_zone("a", "east"), in_zone("b", "west")], [a_pod("db").labels(app="db").on("a")])
    preferred = [{"weight": 10, "podAffinityTerm": near("topology.kubernetes.io/zone", app="db")}]
    drawn = a_pod("p").spec(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    repelled = a_pod("p").spec(
        affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    )

    assert {"a": 200, "b": 0} == scene.scores(drawn, "InterPodAffinity")
    assert {"a": 0, "b": 200} == scene.scores(repelled, "InterPodAffinity")


def test_wishes_of_running_pods_count_too() -> None:
    """A running pod's preferred terms draw and repel newcomers that match them."""
    preferred = [{"weight": 10, "podAffinityTerm": near(app="web")}]
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    scene = Scene(nodes("a", "b"), [a_pod("db").spec(affinity=affinity).on("a")])

    assert {"a": 200, "b": 0} == scene.scores(a_pod("p").labels(app="web"), "InterPodAffinity")
    assert {"a": 0, "b": 0} == scene.scores(a_pod("p").labels(app="other"), "InterPodAffinity")


@pytest.mark.parametrize("selected_by", ["service", "replica set"])
def test_pods_of_a_kind_spread_by_default(selected_by: str) -> None:
    """Without constraints of its own a pod keeps away from the pods of its service or owner, by node and by zone."""
    others: dict[str, list[Any]] = {"Service": [a_service("web")]}
    pod = a_pod("p").labels(app="web")
    if selected_by == "replica set":
        replica_set = a_replica_set("web")
        replica_set["metadata"]["uid"] = "rs"
        others, pod = {"ReplicaSet": [replica_set]}, pod.owned_by(replica_set)
    cluster = [in_zone("a", "east"), in_zone("b", "east"), in_zone("c", "west")]
    scene = Scene(cluster, [a_pod("q").labels(app="web").on("a")], others)

    scores = scene.scores(pod, "PodTopologySpread")

    assert scores["a"] < scores["b"] < scores["c"]


def test_nobody_selects_a_lone_pod() -> None:
    """A pod of no service and no owner is not spread."""
    scene = Scene(nodes("a", "b"), [a_pod("q").labels(app="web").on("a")])

    assert {"a": 0, "b": 0} == scene.scores(a_pod("p").labels(app="web"), "PodTopologySpread")


def test_chance_decides_among_equals() -> None:
    """The injected random numbers choose among the best nodes: the same seed the same node, other seeds others."""
    winners = [Scene(nodes(*"abcdefgh"), seed=seed).decide(a_pod("p")).node_name for seed in range(20)]

    assert winners == [Scene(nodes(*"abcdefgh"), seed=seed).decide(a_pod("p")).node_name for seed in range(20)]
    assert len(set(winners)) > 3


@pytest.mark.parametrize(
    ("node_count", "percentage", "expected"),
    [
        (5, 0, 5),
        (99, 0, 99),
        (100, 0, 100),
        (1000, 0, 420),
        (6000, 0, 300),
        (10_000, 0, 500),
        (1000, 70, 700),
        (1000, 1, 100),
    ],
)
def test_how_many_nodes_are_enough(node_count: int, percentage: int, expected: int) -> None:
    """All of a small cluster, an adaptive share of a large one, never fewer than a hundred."""
    assert expected == nodes_to_find(node_count, percentage)


def test_the_search_goes_on_where_the_last_one_stopped() -> None:
    """With `start` the search begins elsewhere, so that all nodes have their turn."""
    names = [f"n{number:03}" for number in range(300)]
    scene = Scene(nodes(*names))

    decision = scene.decide(a_pod("p"), start=150, percentage=1)

    assert 100 == decision.evaluated_nodes
    assert "n150" <= decision.node_name < "n250"


def test_weights_are_upstreams() -> None:
    """The default order and weights."""
    weights = {entry.plugin.NAME: entry.weight for entry in DEFAULT_PLUGINS if entry.weight > 1}

    expected = {"TaintToleration": 3, "NodeAffinity": 2, "PodTopologySpread": 2, "InterPodAffinity": 2}
    assert {**expected, "DynamicResources": 2} == weights
