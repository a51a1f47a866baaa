"""The pods of an owner by what is counted of them."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controllers import children
from controllers.replicaset.groups import Group, PodGroups, grouped
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.clock import SystemClock
from tests.unit.controllers.workloads import a_pod

NAMES = ["a", "b", "c"]
OWNERS = ["web", "db", ""]

changes = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "owner": st.sampled_from(OWNERS),
        "labels": st.sampled_from([{"app": "web"}, {"app": "web", "zone": "a"}, {}]),
        "ready": st.sampled_from([None, 5, 100]),
        "phase": st.sampled_from(["Pending", "Running", "Failed"]),
        "is_leaving": st.booleans(),
    }
)
asks = st.sampled_from(OWNERS)
ends = st.tuples(st.just("gone"), st.sampled_from(NAMES))


def a_changed_pod(change: dict[str, Any]) -> Object:
    pod = a_pod(change["name"], ready=change["ready"], labels=change["labels"])
    pod["status"]["phase"] = change["phase"]
    if change["is_leaving"]:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if change["owner"]:
        pod["metadata"]["ownerReferences"] = [{"uid": change["owner"], "controller": True}]
    return pod


def named(groups: list[Group]) -> dict[Any, list[tuple[str, int]]]:
    """Groups without their order; the identity says that a pod is the one of the cache, and no older one."""
    return {frozenset(shape.labels) | {shape[:3]}: sorted((name_of(p), id(p)) for p in pods) for shape, pods in groups}


@given(st.lists(changes | asks | ends, max_size=40))
def test_groups_are_those_of_a_walk(steps: list[Any]) -> None:
    """Whatever pods came, changed, were given away and went, and whenever it is asked: as if all had been looked at."""
    informer = Informer(Api("http://127.0.0.1:1"), Scope(PODS), SystemClock(), random.Random(1))
    groups = PodGroups(informer)

    for step in steps:
        if isinstance(step, dict):
            informer.notify([informer.store.put(a_changed_pod(step))])
        elif isinstance(step, tuple):
            gone = informer.store.remove(ObjectKey("default", step[1]))
            informer.notify([gone] if gone else [])
        else:
            assert named(grouped(children.owned_by(informer, step))) == named(groups.of(step))

    for owner in OWNERS[:2]:
        assert named(grouped(children.owned_by(informer, owner))) == named(groups.of(owner))
    assert [] == groups.of("nobody")
