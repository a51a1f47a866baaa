"""How refusals add up to one message."""

from __future__ import annotations

from typing import Any

from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.status import Status, unresolvable, unschedulable
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import Scene, nodes

HELPLESS = "no new claims to deallocate, preemption: 0/{0} nodes are available: {1}."


def diagnosis(**statuses: Status) -> Diagnosis:
    found = Diagnosis(len(statuses))
    for node, status in statuses.items():
        found.refuse(node, status.of("Plugin"))
    return found


def test_equal_reasons_are_counted() -> None:
    """Reasons are counted over the nodes and sorted as text; a node with two reasons counts for both."""
    found = diagnosis(a=unschedulable("b"), b=unschedulable("a", "b"), c=unresolvable("b"))

    assert "0/3 nodes are available: 1 a, 3 b." == found.message


def test_sorting_is_textual() -> None:
    """`10 x` comes before `2 a`, as on the real scheduler."""
    found = diagnosis(**{f"n{i}": unschedulable("x") for i in range(10)}, y=unschedulable("a"), z=unschedulable("a"))

    assert "0/12 nodes are available: 10 x, 2 a." == found.message


def test_nodes_never_looked_at_count_with_the_common_reason() -> None:
    """What holds for all other nodes is counted for them."""
    found = diagnosis(a=unschedulable("x"))
    found.total_nodes, found.absent = 3, unresolvable("elsewhere")

    assert "0/3 nodes are available: 1 x, 2 elsewhere." == found.message


def test_a_refusal_before_any_node_replaces_the_counts() -> None:
    """A PreFilter refusal stands alone, followed by what the post filters say."""
    found = diagnosis(a=unschedulable("x"))
    found.pre_filter_message, found.post_filter_message = 'persistentvolumeclaim "d" not found', "not found"

    assert '0/1 nodes are available: persistentvolumeclaim "d" not found. not found' == found.message


def test_who_refused_is_remembered() -> None:
    """The plugins named are those whose events may bring the pod back."""
    pod = a_pod("p").requests(cpu="100").node_selector(disk="ssd")
    scene = Scene([a_node("a").labels(disk="ssd"), a_node("b"), a_node("c").tainted("x")])

    assert {"NodeResourcesFit", "NodeAffinity", "TaintToleration"} == scene.decide(pod).diagnosis.unschedulable_plugins


def message(pod: Any, *cluster: Any) -> str:
    return Scene(list(cluster)).decide(pod).message


def test_nothing_fits() -> None:
    """The whole message, with the note that preemption would not help."""
    helpless = HELPLESS.format(2, "2 Preemption is not helpful for scheduling")

    found = message(a_pod("p").requests(cpu="100", memory="1Ti"), *nodes("a", "b"))

    assert f"0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. {helpless}" == found


def test_first_refusal_of_a_node_counts() -> None:
    """A node is refused by the first plugin in order; the others are not asked."""
    pod = a_pod("p").requests(cpu="100").node_selector(disk="ssd")
    helpless = HELPLESS.format(3, "3 Preemption is not helpful for scheduling")

    found = message(pod, a_node("a").labels(disk="ssd"), a_node("b"), a_node("c").tainted("x"))

    counts = (
        "1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)"
    )
    assert f"0/3 nodes are available: {counts}. {helpless}" == found


def test_no_victims() -> None:
    """Where room could be made but nobody is less important, that is said of those nodes."""
    helpless = HELPLESS.format(
        2, "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling"
    )
    scene = Scene([a_node("a"), a_node("b").tainted("x")], [a_pod("q").requests(cpu="3").on("a")])

    found = scene.decide(a_pod("p").requests(cpu="2")).message

    assert f"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). {helpless}" == found


def test_preemption_policy_never() -> None:
    """A pod that may not preempt says so instead."""
    pod = a_pod("p").requests(cpu="100").spec(preemptionPolicy="Never")

    found = message(pod, *nodes("a"))

    assert found.endswith("no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.")


def test_no_nodes_at_all() -> None:
    """An empty cluster has its own words."""
    assert "no nodes available to schedule pods" == message(a_pod("p"))


def test_terms_that_leave_no_node() -> None:
    """Terms by name that exclude each other refuse the pod before any node is looked at."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}

    found = message(a_pod("p").spec(affinity={"nodeAffinity": terms}), *nodes("a", "b"))

    assert found == "0/2 nodes are available: pod affinity terms conflict. not found"
