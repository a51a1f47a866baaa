"""The cache: assumed, confirmed and forgotten pods, and the snapshot that follows it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from controllers.scheduler.cache import Cache
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import in_zone, info, near, with_affinity


def used(cache: Cache, node: str = "a") -> tuple[int, int]:
    """Pods and millicores on the node."""
    snapshot = Snapshot()
    cache.update(snapshot)
    found = snapshot.get(node)
    assert found is not None
    return len(found.pods), found.requested_cpu


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    cache.set_node(a_node("a"))
    cache.set_node(a_node("b"))
    return cache


POD = a_pod("p").requests(cpu="1500m")


def test_an_assumed_pod_counts(cache: Cache) -> None:
    """From the decision on its room is taken."""
    cache.assume_pod(info(POD), "a")

    assert cache.is_assumed("uid-of-p")
    assert (1, 1500) == used(cache)


def test_a_forgotten_pod_counts_no_more(cache: Cache) -> None:
    """A failed binding gives the room back, once."""
    cache.assume_pod(info(POD), "a")

    assert cache.forget_pod("uid-of-p")
    assert not cache.forget_pod("uid-of-p")
    assert (0, 0) == used(cache)


def test_a_confirmed_pod_cannot_be_forgotten(cache: Cache) -> None:
    """When the informer has seen the binding, an error of the request does not matter any more."""
    cache.assume_pod(info(POD), "a")
    cache.add_pod(info(POD.copy().on("a")))

    assert not cache.forget_pod("uid-of-p")
    assert (1, 1500) == used(cache)


def test_confirmed_elsewhere(cache: Cache) -> None:
    """What the informer says wins over what was assumed."""
    cache.assume_pod(info(POD), "a")
    cache.add_pod(info(POD.copy().on("b")))

    assert ((0, 0), (1, 1500)) == (used(cache, "a"), used(cache, "b"))


def test_assuming_twice_is_a_mistake(cache: Cache) -> None:
    """A pod is on one node."""
    cache.assume_pod(info(POD), "a")

    with pytest.raises(ValueError, match="in the cache already"):
        cache.assume_pod(info(POD), "b")


def test_a_binding_is_what_was_assumed(cache: Cache) -> None:
    """With its node's zone and region, which the server copies onto the pod: its node need not be looked at again."""
    topology = {"topology.kubernetes.io/zone": "x", "topology.kubernetes.io/region": "r"}
    cache.set_node(a_node("zoned").labels(**topology, disk="ssd"))
    snapshot = Snapshot()
    cache.assume_pod(info(POD.copy().labels(app="web")), "zoned")
    cache.update(snapshot)
    before = snapshot.get("zoned")

    assert cache.follow_pod(info(POD.copy().labels(app="web", **topology).on("zoned")).pod)

    cache.update(snapshot)
    assert before is snapshot.get("zoned")


def test_news_of_a_start_change_no_node(cache: Cache) -> None:
    """A kubelet's report leaves the node as it is, is there to be read, and confirms the pod."""
    snapshot = Snapshot()
    cache.assume_pod(info(POD), "a")
    cache.update(snapshot)
    before = snapshot.get("a")
    assert before is not None
    report = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}

    assert cache.follow_pod({**info(POD.copy().on("a")).pod, "status": report})

    cache.update(snapshot)
    assert before is snapshot.get("a")
    assert report == before.pods["uid-of-p"].pod["status"]
    assert not cache.is_assumed("uid-of-p")


RUNNING = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
SAME = {"name": "c", "resources": {"requests": {"cpu": "1500m"}}}


@pytest.mark.parametrize(
    ("changes", "is_the_same"),
    [
        ({"metadata": {"annotations": {"a": "b"}}}, True),
        ({"status": {"containerStatuses": [SAME]}}, True),
        ({"status": {"containerStatuses": [RUNNING]}}, False),
        ({"status": {"nominatedNodeName": "b"}}, False),
        ({"metadata": {"labels": {"app": "web"}}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        ({"spec": {"nodeName": "b"}}, False),
    ],
)
def test_what_counts_is_counted_anew(cache: Cache, changes: dict[str, Any], is_the_same: bool) -> None:
    """Whatever a plugin may read of a placed pod, beside its object, makes it another one."""
    pod = info(POD.copy().on("a")).pod
    pod["spec"]["containers"][0]["name"] = "c"
    cache.add_pod(PodInfo(pod))

    changed = {**pod, **{part: {**pod.get(part, {}), **fields} for part, fields in changes.items()}}

    assert is_the_same == cache.follow_pod(changed)


def test_an_update_counts_anew(cache: Cache) -> None:
    """A resized pod counts with its new requests."""
    cache.add_pod(info(POD.copy().on("a")))
    cache.add_pod(info(POD.copy().on("a").requests(cpu="2")))

    assert (1, 2000) == used(cache)


def test_pods_outlive_their_node(cache: Cache) -> None:
    """News of pods and nodes come in any order: a node that comes back finds its pods counted."""
    cache.add_pod(info(POD.copy().on("a")))
    cache.remove_node("a")
    gone = Snapshot()
    cache.update(gone)
    cache.set_node(a_node("a"))

    assert gone.get("a") is None
    assert (1, 1500) == used(cache)


def test_pods_may_come_before_their_node() -> None:
    """A pod on a node nobody has seen yet counts as soon as the node is seen."""
    cache = Cache()
    cache.add_pod(info(POD.copy().on("a")))
    snapshot = Snapshot()
    cache.update(snapshot)
    cache.set_node(a_node("a"))

    assert [] == snapshot.nodes
    assert (1, 1500) == used(cache)


def test_a_snapshot_exchanges_only_what_changed(cache: Cache) -> None:
    """Of two nodes, the one that did not change is the same object as before."""
    snapshot = Snapshot()
    cache.update(snapshot)
    before = {node.name: node for node in snapshot.nodes}
    cache.assume_pod(info(POD), "a")
    cache.update(snapshot)

    assert before["b"] is snapshot.get("b")
    assert before["a"] is not snapshot.get("a")


def test_a_snapshot_stays_as_it_is(cache: Cache) -> None:
    """What happens in the cache does not reach a snapshot before the next update."""
    snapshot = Snapshot()
    cache.update(snapshot)
    cache.assume_pod(info(POD), "a")

    node = snapshot.get("a")
    assert node is not None
    assert 0 == node.requested_cpu


def test_two_snapshots_of_one_cache(cache: Cache) -> None:
    """Each knows by itself what it has seen."""
    first, second = Snapshot(), Snapshot()
    cache.update(first)
    cache.set_node(a_node("c"))
    cache.update(second)
    cache.update(first)

    assert ["a", "b", "c"] == [node.name for node in first.nodes] == [node.name for node in second.nodes]


def test_zones_take_turns() -> None:
    """Nodes are looked at zone by zone in turn."""
    cache, snapshot = Cache(), Snapshot()
    for name, zone in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "z")):
        cache.set_node(in_zone(name, zone))
    cache.update(snapshot)

    assert ["a", "c", "d", "b"] == [node.name for node in snapshot.nodes]


def test_indices_follow() -> None:
    """What the snapshot says of taints, affinity and images is true after every change."""
    cache, snapshot = Cache(), Snapshot()
    node = a_node("a").tainted("x").tainted("y", "PreferNoSchedule").spec(unschedulable=True)
    node["status"]["images"] = [{"names": ["web:1"], "sizeBytes": 7}]
    cache.set_node(node)
    cache.add_pod(info(with_affinity(a_pod("p"), "podAntiAffinity", near(app="x")).on("a")))
    cache.update(snapshot)
    then = (set(snapshot.repelling), set(snapshot.unwelcoming), set(snapshot.unschedulable), deepcopy(snapshot.images))
    had_affinity = set(snapshot.with_anti_affinity) | set(snapshot.with_affinity)
    cache.set_node(a_node("a"))
    cache.remove_pod("uid-of-p")
    cache.update(snapshot)

    assert ({"a"}, {"a"}, {"a"}, {"web:1": {"a": 7}}) == then
    assert {"a"} == had_affinity
    assert not (snapshot.repelling or snapshot.unwelcoming or snapshot.unschedulable or snapshot.images)
    assert not (snapshot.with_affinity or snapshot.with_anti_affinity)
