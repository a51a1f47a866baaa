"""Scheduling: what is kept from pod to pod never shows. A cluster that has changed for a while decides as a new one."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.scheduler import schedule
from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.interface import CycleState
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.schedule import nodes_to_find, schedule_one
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node, a_pod, a_service
from tests.unit.scheduler.scene import Scene, info, near, with_affinity

NAMES = [f"node-{i}" for i in range(7)]
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def a_spread(key: str, action: str, skew: int = 1, **more: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    return {"topologyKey": key, "whenUnsatisfiable": action, "maxSkew": skew, "labelSelector": selector, **more}


def preferring(pod: PodBuilder, kind: str, weight: int, term: Object) -> PodBuilder:
    entry = {"weight": weight, "podAffinityTerm": term}
    pod["spec"].setdefault("affinity", {})[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": [entry]}
    return pod


def web(name: str) -> PodBuilder:
    return a_pod(name).labels(app="web").requests(cpu="500m", memory="256Mi")


def a_node_preference() -> Object:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": term}]}}


# Every way in which a decision depends on what is kept; the service "web" gives the default constraints a selector.
KINDS = {
    "plain": lambda name: a_pod(name).labels(app="db"),
    "service": web,
    "big": lambda name: web(name).requests(cpu="2", memory="1Gi"),
    "tolerant": lambda name: web(name).tolerates("dedicated"),
    "picky": lambda name: a_pod(name).node_selector(**{ZONE: "a"}),
    "leaning": lambda name: web(name).spec(affinity=a_node_preference()),
    "port": lambda name: a_pod(name).spec(containers=[{"name": "c", "ports": [{"hostPort": 80}]}]),
    "spread": lambda name: web(name).spec(topologySpreadConstraints=[a_spread(ZONE, "DoNotSchedule", 2)]),
    "spread over both": lambda name: web(name).spec(
        topologySpreadConstraints=[
            a_spread(ZONE, "DoNotSchedule", 2, nodeTaintsPolicy="Honor", minDomains=2),
            a_spread(HOSTNAME, "DoNotSchedule", 2),
            a_spread(ZONE, "ScheduleAnyway"),
            a_spread(HOSTNAME, "ScheduleAnyway", 2),
        ]
    ),
    "near": lambda name: with_affinity(web(name), "podAffinity", near(ZONE, app="web")),
    "far": lambda name: with_affinity(web(name), "podAntiAffinity", near(app="db"), near(ZONE, app="cache")),
    "loner": lambda name: with_affinity(
        a_pod(name).labels(app="cache"), "podAntiAffinity", near(app="cache"), near(app="web")
    ),
    "fond": lambda name: preferring(web(name), "podAffinity", 5, near(ZONE, app="db")),
    "shy": lambda name: preferring(web(name), "podAntiAffinity", 3, near(app="web")),
}

STEPS: Any = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), st.sampled_from(sorted(KINDS))),
        st.tuples(st.just("schedule"), st.sampled_from(sorted(KINDS))),
        st.tuples(st.sampled_from(("remove pod", "confirm pod", "delete pod", "relabel pod")), st.integers(0, 30)),
        st.tuples(st.sampled_from(("zone", "taint", "shy away", "cordon", "node")), st.sampled_from(NAMES)),
    ),
    min_size=15,
    max_size=50,
)


class Cluster:
    """`scene.snapshot` lives as long as the cluster does."""

    def __init__(self) -> None:
        self.nodes = {name: a_node(name).capacity(cpu="4", memory="4Gi", pods="8") for name in NAMES[:-1]}
        for i, node in enumerate(self.nodes.values()):
            node.labels(**{ZONE: "abc"[i % 3], HOSTNAME: node["metadata"]["name"]})
        service = a_service("web").spec(selector={"app": "web"})
        self.scene = Scene([node.copy() for node in self.nodes.values()], others={"Service": [service]})
        self.placed: list[PodInfo] = []
        self.count = 0

    def new_pod(self, kind: str) -> Object:
        self.count += 1
        pod: Object = KINDS[kind](f"p{self.count}")
        return pod

    def place(self, pod: PodInfo, node_name: str) -> None:
        self.placed.append(self.scene.cache.assume_pod(pod, node_name))

    def change(self, step: str, which: Any) -> None:
        if step in ("remove pod", "confirm pod", "delete pod", "relabel pod"):
            if self.placed:
                self.change_pod(step, which % len(self.placed))
            return
        node = self.nodes.get(which)
        if step == "node":
            self.come_or_go(which, node)
        elif node is not None:
            self.change_node(step, node)
            self.scene.cache.set_node(node.copy())

    def change_pod(self, step: str, which: int) -> None:
        """As the informer would tell it."""
        pod, cache = self.placed[which], self.scene.cache
        metadata, status = dict(pod.pod["metadata"]), {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
        if step == "remove pod":
            cache.remove_pod(pod.uid)
            del self.placed[which]
            return
        if step == "delete pod":
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if step == "relabel pod":
            metadata["labels"] = {"app": "cache" if pod.labels.get("app") == "web" else "web"}
        changed = {**pod.pod, "metadata": metadata, "status": status}
        if not cache.follow_pod(changed):
            self.placed[which] = PodInfo(changed)
            cache.add_pod(self.placed[which])

    def change_node(self, step: str, node: NodeBuilder) -> None:
        if step == "zone":
            labels = node["metadata"]["labels"]
            labels.pop(ZONE) if labels.get(ZONE) == "c" else labels.update({ZONE: "c"})
        elif step == "cordon":
            node.spec(unschedulable=not node["spec"].get("unschedulable"))
        else:
            effect = "NoSchedule" if step == "taint" else "PreferNoSchedule"
            node.spec(taints=[] if node["spec"].get("taints") else [{"key": "dedicated", "effect": effect}])

    def come_or_go(self, name: str, node: NodeBuilder | None) -> None:
        if node is not None:
            self.scene.cache.remove_node(name)
            del self.nodes[name]
            return
        self.nodes[name] = a_node(name).capacity(cpu="4", memory="4Gi", pods="8").labels(**{ZONE: "b", HOSTNAME: name})
        self.scene.cache.set_node(self.nodes[name].copy())


@pytest.fixture(scope="module", autouse=True)
def stops_early() -> Any:
    """Seven nodes are searched as a thousand would be: some at once, and only until enough are found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "MIN_FEASIBLE_NODES", 3)
        patch.setattr(schedule, "MIN_NODES_AT_ONCE", 2)
        yield


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_decision_is_that_of_a_plain_search(steps: list[tuple[str, Any]]) -> None:
    """Node, refusals and scores are those of a search that remembers nothing and asks node by node; ties too."""
    cluster = Cluster()
    for number, (step, what) in enumerate(steps):
        if step != "schedule":
            cluster.change(step, what)
            continue
        pod = info(cluster.new_pod(what))
        expected = plain_decision(cluster.scene, pod, number)

        cluster.scene.cache.update(cluster.scene.snapshot)
        decision = schedule_one(
            cluster.scene.framework,
            pod,
            cluster.scene.snapshot,
            random.Random(number),
            start=number,
            percentage=50,
        )

        assert expected == (decision.node_name, decision.diagnosis.node_statuses)
        assert plain_scores(cluster.scene, pod) == explained(cluster.scene, pod)
        if decision.node_name:
            cluster.place(pod, decision.node_name)


def plain_decision(scene: Scene, pod: PodInfo, number: int) -> tuple[str, dict[str, Status]]:
    snapshot = Snapshot()
    scene.cache.update(snapshot)
    if not snapshot.nodes:
        return "", {}
    state = CycleState(snapshot)
    names, refusal = scene.framework.pre_filter(state, pod, Diagnosis())
    if names is not None or refusal is not None:
        return "", {}
    start = number % len(snapshot.nodes)
    feasible, refused = [], {}
    for node in (*snapshot.nodes[start:], *snapshot.nodes[:start]):
        status = scene.framework.filter_with_nominated(state, pod, node)
        if status is not None:
            refused[node.name] = status
        else:
            feasible.append(node)
        if len(feasible) >= nodes_to_find(len(snapshot.nodes), 50):
            break
    if len(feasible) < 2:
        return feasible[0].name if feasible else "", refused
    scores = scene.framework.score(state, pod, feasible)
    assert isinstance(scores, dict)
    totals = [sum(of_node) for of_node in zip(*scores.values(), strict=True)]
    best = [node.name for node, total in zip(feasible, totals, strict=True) if total == max(totals)]
    return random.Random(number).choice(best), refused


def plain_scores(scene: Scene, pod: PodInfo) -> dict[str, dict[str, int]]:
    """Of all feasible nodes, on a snapshot that has seen no other pod; topology spread as its documentation has it."""
    snapshot = Snapshot()
    scene.cache.update(snapshot)
    scores = schedule_one(scene.framework, pod, snapshot, random.Random(1), explain=True).diagnosis.scores
    spread = plain_spread(snapshot, pod, list(scores))
    return {
        name: {**of_node, "PodTopologySpread": 2 * spread[name]} if spread else of_node
        for name, of_node in scores.items()
    }


def plain_spread(snapshot: Snapshot, pod: PodInfo, feasible: list[str]) -> dict[str, int]:
    own = pod.spec.get("topologySpreadConstraints")
    if own is None and pod.labels.get("app") != "web":
        return {}
    defaults = [a_spread(HOSTNAME, "ScheduleAnyway", 3), a_spread(ZONE, "ScheduleAnyway", 5)]
    constraints = [c for c in own or defaults if c["whenUnsatisfiable"] == "ScheduleAnyway"]
    if not constraints:
        return {}
    nodes = {node.name: node for node in snapshot.nodes}
    keys = [c["topologyKey"] for c in constraints]
    ignored = {name for name in feasible if own and any(key not in nodes[name].labels for key in keys)}
    left = [name for name in feasible if name not in ignored]
    raw = dict.fromkeys(feasible, 0.0)
    for constraint, key in zip(constraints, keys, strict=True):
        around: Counter[str | None] = Counter()
        for node in nodes.values():
            if not own or all(k in node.labels for k in keys):
                webs = [p for p in node.pods.values() if p.labels.get("app") == "web" and not p.is_being_deleted]
                around[node.labels.get(key)] += len(webs)
        size = len(left) if key == HOSTNAME else len({nodes[name].labels.get(key, "") for name in left})
        for name in left:
            if (value := nodes[name].labels.get(key)) is not None:
                raw[name] += around[value] * math.log(size + 2) + constraint["maxSkew"] - 1
    points = {name: int(raw[name] + 0.5) for name in left}
    low, high = min(points.values(), default=0), max(points.values(), default=0)
    normal = {name: 100 * (high + low - point) // high if high else 100 for name, point in points.items()}
    return {name: normal.get(name, 0) for name in feasible}


def explained(scene: Scene, pod: PodInfo) -> dict[str, dict[str, int]]:
    return schedule_one(scene.framework, pod, scene.snapshot, random.Random(1), explain=True).diagnosis.scores
