"""Who has to go so that a more important pod can run, and where."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.scheduler.interface import Nomination
from controllers.scheduler.preemption import Candidate, pick_one, split_by_budgets
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from tests.unit.scheduler.scene import Scene, info, near, nodes, with_affinity


def a_running(name: str, node: str, cpu: str = "2", priority: int = 0, started: str = "") -> PodBuilder:
    pod = a_pod(name).requests(cpu=cpu).on(node).spec(priority=priority)
    pod["status"] = {"startTime": started} if started else {}
    return pod


def an_important(cpu: str = "2") -> PodBuilder:
    return a_pod("vip").requests(cpu=cpu).spec(priority=100)


def chosen(scene: Scene, pod: Object) -> tuple[str, list[str]]:
    """The nominated node, and the names of the victims."""
    nomination = scene.decide(pod).nomination
    assert nomination is not None
    return nomination.node_name, sorted(victim.name for victim in nomination.victims)


def test_the_less_important_pod_goes() -> None:
    """Of two pods that would make room, the one with the lower priority is the victim."""
    scene = Scene(nodes("a"), [a_running("low", "a", priority=1), a_running("high", "a", priority=50)])

    assert ("a", ["low"]) == chosen(scene, an_important())


def test_no_more_go_than_needed() -> None:
    """Pods that fit beside the newcomer stay."""
    scene = Scene(nodes("a"), [a_running(name, "a", cpu="1") for name in ("p", "q", "r", "s")])

    node, victims = chosen(scene, an_important(cpu="1"))

    assert ("a", 1) == (node, len(victims))


def test_the_youngest_goes_first() -> None:
    """Among equals the pod that has run longest is spared."""
    old = a_running("old", "a", started="2026-01-01T00:00:00Z")
    young = a_running("young", "a", started="2026-02-01T00:00:00Z")

    assert ("a", ["young"]) == chosen(Scene(nodes("a"), [young, old]), an_important())


def test_a_message_without_preemption_note_when_it_helps() -> None:
    """A successful preemption says nothing of itself in the message."""
    scene = Scene([a_node("a"), a_node("b").tainted("x")], [a_running("low", "a", cpu="4")])

    message = scene.decide(an_important()).message

    assert "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)." == message


def test_equals_are_no_victims() -> None:
    """Nobody is removed for a pod of the same priority, and a former promise is taken back."""
    scene = Scene(nodes("a"), [a_running("p", "a", cpu="4", priority=100)])

    assert Nomination("") == scene.decide(an_important()).nomination


def test_hopeless_nodes_are_not_tried() -> None:
    """Where even an empty node is too small, nobody goes."""
    scene = Scene(nodes("a"), [a_running("p", "a", cpu="4")])

    assert Nomination("") == scene.decide(an_important(cpu="64")).nomination


def test_removing_a_pod_lifts_its_anti_affinity() -> None:
    """A victim's anti-affinity goes with it: that is counted while it is tried out."""
    loner = with_affinity(a_running("loner", "a", cpu="100m"), "podAntiAffinity", near(app="vip"))

    assert ("a", ["loner"]) == chosen(Scene(nodes("a"), [loner]), an_important().labels(app="vip"))


def test_removing_a_pod_evens_out_the_spread() -> None:
    """Topology spread is counted without the victims."""
    pods = [a_running(name, "a", cpu="100m").labels(app="s") for name in ("p", "q")]
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    constraint["labelSelector"] = {"matchLabels": {"app": "s"}}
    scene = Scene([a_node("a"), a_node("b").spec(unschedulable=True)], pods)

    node, victims = chosen(scene, an_important().labels(app="s").spec(topologySpreadConstraints=[constraint]))

    assert ("a", 2) == (node, len(victims))


def a_budget(allowed: int, **labels: str) -> dict[str, Any]:
    selector = {"matchLabels": labels}
    return {
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }


def test_budgets_are_spared_where_possible() -> None:
    """The node without a broken budget wins, even if its victim matters more."""
    guarded = a_running("guarded", "a", cpu="4").labels(app="db")
    scene = Scene(
        nodes("a", "b"),
        [guarded, a_running("free", "b", cpu="4", priority=50)],
        {"PodDisruptionBudget": [a_budget(0, app="db")]},
    )

    assert ("b", ["free"]) == chosen(scene, an_important())


def test_a_budget_is_broken_if_need_be() -> None:
    """Budgets are respected on a best-effort basis only."""
    guarded = a_running("guarded", "a", cpu="4").labels(app="db")
    scene = Scene(nodes("a"), [guarded], {"PodDisruptionBudget": [a_budget(0, app="db")]})

    assert ("a", ["guarded"]) == chosen(scene, an_important())


def test_budgets_allow_so_many() -> None:
    """The first victims use up what a budget allows, the rest break it; evictions under way are counted already."""
    pods = [info(a_running(name, "a").labels(app="db")) for name in ("p", "q", "r")]
    budget = a_budget(1, app="db")
    budget["status"]["disruptedPods"] = {"r": "2026-01-01T00:00:00Z"}

    guarded, free = split_by_budgets(pods, [budget])

    assert (["q"], ["p", "r"]) == ([pod.name for pod in guarded], [pod.name for pod in free])


def a_candidate(name: str, *priorities: int, violations: int = 0, started: str = "2026-01-01T00:00:00Z") -> Candidate:
    victims = [info(a_running(f"{name}{i}", name, priority=p, started=started)) for i, p in enumerate(priorities)]
    return Candidate(name, tuple(victims), violations)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([a_candidate("a", 1, violations=1), a_candidate("b", 9)], "b"),
        ([a_candidate("a", 5), a_candidate("b", 3, 3)], "b"),
        ([a_candidate("a", 5, 4), a_candidate("b", 5, 3)], "b"),
        ([a_candidate("a", 5, 5), a_candidate("b", 5)], "b"),
        ([a_candidate("a", 5), a_candidate("b", 5, started="2026-02-01T00:00:00Z")], "b"),
        ([a_candidate("a", 5), a_candidate("b", 5)], "a"),
    ],
)
def test_where_it_hurts_least(candidates: list[Candidate], expected: str) -> None:
    """Rules in order: budgets, the top victim's priority, the sum, the number, the age; then the first."""
    assert expected == pick_one(candidates).node_name


def test_a_promised_node_is_kept_free() -> None:
    """A less important pod sees a promised pod as if it ran there; a more important one does not."""
    scene = Scene(nodes("a"))
    scene.nominator.add(info(a_pod("promised").requests(cpu="3").spec(priority=50)), "a")

    assert {"a": "Insufficient cpu"} == scene.reasons(a_pod("p").requests(cpu="2"))
    assert ["a"] == scene.feasible(a_pod("q").requests(cpu="2").spec(priority=100))


def test_the_promised_pod_goes_to_its_node() -> None:
    """The nominated node is tried first, even where others are emptier."""
    pod = a_pod("p")
    pod["status"] = {"nominatedNodeName": "a"}

    assert "a" == Scene(nodes("a", "b"), [a_running("q", "a")]).decide(pod).node_name


def test_a_pod_waits_for_its_victims() -> None:
    """While a victim on the promised node is still going, nobody else is removed."""
    victim = a_running("victim", "a", cpu="4")
    victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim["status"]["conditions"] = [condition]
    pod = an_important()
    pod["status"] = {"nominatedNodeName": "a"}

    decision = Scene(nodes("a", "b"), [victim, a_running("other", "b", cpu="4")]).decide(pod)

    assert decision.nomination is None
    assert decision.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")
