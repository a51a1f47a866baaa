"""Which events wake the pods that a plugin refused."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.scheduler.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NAMESPACE,
    NODE_ADD,
    NODE_DELETE,
    UPDATE,
    ClusterEvent,
    node_update_events,
    pod_update_events,
)
from controllers.scheduler.hints import QueueingHints
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import Scene, info, near, with_affinity

HINTS = QueueingHints({"default-scheduler": Scene([]).framework.hints})


def wakes(pod: Any, plugin: str, event: ClusterEvent, old: Any, new: Any) -> bool:
    return [plugin] == list(HINTS.helped(info(pod), [plugin], event, old, new))


def changed(plugin: str, pod: Any, old: Any, new: Any) -> bool:
    """Whether an update of a node or of a pod wakes it."""
    events = node_update_events(old, new) if new["kind"] == "Node" else pod_update_events(old, new)
    return any(wakes(pod, plugin, event, old, new) for event in events)


def with_uid(pod: Any) -> Any:
    return info(pod).pod


NODE = a_node("a")
SSD = a_pod("p").node_selector(disk="ssd")
PLACED = with_uid(a_pod("q").on("a").requests(cpu="1").labels(app="s"))
WANTS_NEAR = with_affinity(a_pod("p"), "podAffinity", near(app="s"))
WANTS_FAR = with_affinity(a_pod("p"), "podAntiAffinity", near(app="s"))
GATED = with_uid(a_pod("p").spec(schedulingGates=[{"name": "x"}]))
CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
SPREAD = a_pod("p").spec(topologySpreadConstraints=[{**CONSTRAINT, "labelSelector": {"matchLabels": {"app": "s"}}}])


@pytest.mark.parametrize(
    ("plugin", "pod", "old", "new", "expected"),
    [
        ("NodeAffinity", SSD, NODE, a_node("a").labels(disk="ssd"), True),
        ("NodeAffinity", SSD, NODE, a_node("a").labels(disk="hdd"), False),
        ("NodeAffinity", SSD, a_node("a").labels(disk="ssd"), a_node("a").labels(disk="ssd", x="y"), False),
        ("NodeAffinity", SSD, NODE, a_node("a").capacity(cpu="9"), False),
        ("TaintToleration", a_pod("p"), a_node("a").tainted("x"), NODE, True),
        ("TaintToleration", a_pod("p"), NODE, a_node("a").tainted("x"), False),
        ("NodeUnschedulable", a_pod("p"), a_node("a").spec(unschedulable=True), NODE, True),
        ("NodeUnschedulable", a_pod("p"), NODE, a_node("a").spec(unschedulable=True), False),
        ("NodeResourcesFit", a_pod("p").requests(cpu="8"), NODE, a_node("a").capacity(cpu="8"), True),
        ("NodeResourcesFit", a_pod("p").requests(cpu="9"), NODE, a_node("a").capacity(cpu="8"), False),
        ("NodeResourcesFit", a_pod("p").requests(cpu="1"), NODE, a_node("a").capacity(memory="99Gi"), False),
        ("NodeResourcesFit", a_pod("p").requests(cpu="1"), NODE, a_node("a").labels(x="y"), False),
        ("NodeResourcesFit", a_pod("p").requests(cpu="1"), PLACED, with_uid(a_pod("q").on("a").labels(app="s")), True),
        ("PodTopologySpread", SPREAD, NODE, a_node("a").labels(zone="x"), True),
        ("PodTopologySpread", SPREAD, NODE, a_node("a").labels(disk="x"), False),
        ("PodTopologySpread", SPREAD, PLACED, with_uid(a_pod("q").on("a").requests(cpu="1")), True),
        ("InterPodAffinity", WANTS_NEAR, with_uid(a_pod("q").on("a").requests(cpu="1")), PLACED, True),
        ("InterPodAffinity", WANTS_NEAR, PLACED, with_uid(a_pod("q").on("a").requests(cpu="1")), False),
        ("InterPodAffinity", WANTS_FAR, PLACED, with_uid(a_pod("q").on("a").requests(cpu="1")), True),
        ("InterPodAffinity", WANTS_NEAR, NODE, a_node("a").labels(x="y"), False),
        ("SchedulingGates", a_pod("p"), GATED, with_uid(a_pod("p")), True),
        ("TaintToleration", a_pod("p"), with_uid(a_pod("p")), with_uid(a_pod("p").tolerates("x")), True),
        ("TaintToleration", a_pod("p"), with_uid(a_pod("z")), with_uid(a_pod("z").tolerates("x")), False),
    ],
)  # fmt: skip
def test_updates(plugin: str, pod: Any, old: Any, new: Any, expected: bool) -> None:
    """An update wakes the pod only where it may change the plugin's mind."""
    assert expected == changed(plugin, pod, old, new)


@pytest.mark.parametrize(
    ("plugin", "pod", "event", "old", "new", "expected"),
    [
        ("NodeResourcesFit", a_pod("p").requests(cpu="1"), NODE_ADD, None, NODE, True),
        ("NodeResourcesFit", a_pod("p").requests(cpu="64"), NODE_ADD, None, NODE, False),
        ("NodeAffinity", SSD, NODE_ADD, None, NODE, False),
        ("NodeAffinity", SSD, NODE_ADD, None, a_node("a").labels(disk="ssd"), True),
        ("NodeResourcesFit", a_pod("p").requests(cpu="1"), ASSIGNED_POD_DELETE, PLACED, None, True),
        ("NodeAffinity", SSD, ASSIGNED_POD_DELETE, PLACED, None, False),
        ("InterPodAffinity", WANTS_NEAR, ASSIGNED_POD_ADD, None, PLACED, True),
        ("InterPodAffinity", WANTS_NEAR, ASSIGNED_POD_DELETE, PLACED, None, False),
        ("InterPodAffinity", WANTS_FAR, ASSIGNED_POD_DELETE, PLACED, None, True),
        ("InterPodAffinity", WANTS_FAR, ASSIGNED_POD_ADD, None, PLACED, False),
        ("PodTopologySpread", SPREAD, ASSIGNED_POD_DELETE, PLACED, None, True),
        ("PodTopologySpread", SPREAD, NODE_DELETE, a_node("a").labels(zone="x"), None, True),
        ("NodePorts", a_pod("p"), ASSIGNED_POD_DELETE, PLACED, None, False),
        ("DefaultPreemption", a_pod("p"), ASSIGNED_POD_DELETE, PLACED, None, False),
    ],
)
def test_comings_and_goings(plugin: str, pod: Any, event: ClusterEvent, old: Any, new: Any, expected: bool) -> None:
    """What comes or goes wakes the pod only where it may change the plugin's mind."""
    assert expected == wakes(pod, plugin, event, old, new)


def test_a_freed_port_wakes_who_wants_it() -> None:
    """Only a pod that had one of the wanted ports."""

    def with_port(name: str, port: int) -> Any:
        containers = [{"name": "c", "image": "web:1", "ports": [{"containerPort": 80, "hostPort": port}]}]
        return with_uid(a_pod(name).spec(containers=containers).on("a"))

    waiting = with_port("p", 80)

    assert wakes(waiting, "NodePorts", ASSIGNED_POD_DELETE, with_port("q", 80), None)
    assert not wakes(waiting, "NodePorts", ASSIGNED_POD_DELETE, with_port("q", 81), None)


def by_labels(**labels: str) -> Any:
    """A term that picks namespaces by their labels."""
    return {**near(app="s"), "namespaceSelector": {"matchLabels": labels}}


def a_namespace(name: str, **labels: str) -> Any:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


TEAMS = QueueingHints(
    {"default-scheduler": Scene([], others={"Namespace": [a_namespace("teams", team="x")]}).framework.hints}
)


@pytest.mark.parametrize(("namespace", "expected"), [("teams", True), ("default", False)])
def test_namespaces_may_be_picked_by_their_labels(namespace: str, expected: bool) -> None:
    """What comes or goes in one of them wakes the pod, which upstream leaves asleep for five minutes."""
    other = with_uid(a_pod("q").namespace(namespace).labels(app="s").on("a"))
    wants, avoids = (
        info(with_affinity(a_pod("p"), kind, by_labels(team="x"))) for kind in ("podAffinity", "podAntiAffinity")
    )

    assert expected == bool(list(TEAMS.helped(wants, ["InterPodAffinity"], ASSIGNED_POD_ADD, None, other)))
    assert expected == bool(list(TEAMS.helped(avoids, ["InterPodAffinity"], ASSIGNED_POD_DELETE, other, None)))


def test_labels_of_a_namespace_wake_who_goes_by_them() -> None:
    """Pods whose terms pick namespaces by labels, and those in the namespace, which others may have avoided."""
    picky = with_affinity(a_pod("p"), "podAffinity", by_labels(team="x"))
    event = ClusterEvent(NAMESPACE, UPDATE)
    change = a_namespace("other"), a_namespace("other", team="x")

    assert wakes(picky, "InterPodAffinity", event, *change)
    assert wakes(a_pod("p").namespace("other"), "InterPodAffinity", event, *change)
    assert not wakes(WANTS_NEAR, "InterPodAffinity", event, *change)
    assert not wakes(picky, "InterPodAffinity", event, change[1], change[1])


def test_the_last_of_its_kind_that_goes_makes_the_next_one_the_first() -> None:
    """A pod that wants to be near its like may go anywhere once there is none."""
    alike = with_affinity(a_pod("p").labels(app="s"), "podAffinity", near(app="s"))

    assert wakes(alike, "InterPodAffinity", ASSIGNED_POD_DELETE, PLACED, None)


def test_one_of_several_kinds_that_are_avoided_is_enough() -> None:
    """A pod that went need not have been avoided for every reason."""
    far = with_affinity(a_pod("p"), "podAntiAffinity", near(app="s"), near(app="t"))

    assert wakes(far, "InterPodAffinity", ASSIGNED_POD_DELETE, PLACED, None)


def test_a_heartbeat_is_no_event() -> None:
    """An update that changes nothing for scheduling moves nobody."""
    beat = a_node("a")
    beat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"

    assert [] == node_update_events(NODE, beat)
