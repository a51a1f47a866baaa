"""What one reconcile of a StatefulSet does. For the letters of pods see `sets.a_member`."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.stateful_set import status
from controllers.stateful_set.identity import REVISION_LABEL
from controllers.stateful_set.model import SetSpec
from controllers.stateful_set.plan import CREATE, plan
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.stateful_set.sets import NEW, OLD, REVISIONS, a_set, members
from tests.unit.controllers.workloads import NOW, a_template


def steps(spec: SetSpec, pods: list[Object], claims: dict[str, Object] | None = None) -> list[str]:
    decided = plan(spec, REVISIONS, pods, claims or {}, NOW)
    return [f"{step.verb} {step.pod['metadata']['name'][4:]}" for phase in decided.phases for step in phase]


@pytest.mark.parametrize(
    ("replicas", "states", "expected"),
    [
        (3, "", ["create 0"]),
        (3, "R", ["create 1"]),
        (3, "P", []),
        (3, "N", []),
        (3, "T", []),
        (3, "RRR", []),
        (3, "R-R", ["create 1"]),
        (3, "RNR", []),
        (3, "N-R", []),
        (3, "RFR", ["delete 1"]),
        (3, "RSR", ["delete 1"]),
        (0, "", []),
        (2, "RRRR", ["delete 3"]),
        (2, "RRRT", []),
        (2, "RNRR", []),
        (2, "RRNR", ["delete 3"]),
        (2, "RRRN", ["delete 3"]),
        (2, "RRNN", []),
        (0, "RR", ["delete 1"]),
    ],
)
def test_in_order_one_thing_is_done_at_a_time(replicas: int, states: str, expected: list[str]) -> None:
    """Up from below, down from above, and nothing while a pod is awaited."""
    spec = a_set(replicas)

    assert expected == steps(spec, members(spec, states))


@pytest.mark.parametrize(
    ("replicas", "states", "expected"),
    [
        (3, "", ["create 0", "create 1", "create 2"]),
        (3, "-N-", ["create 0", "create 2"]),
        (3, "FTP", ["delete 0"]),
        (1, "RRNT", ["delete 2", "delete 1"]),
        (2, "N-RR", ["create 1", "delete 3", "delete 2"]),
    ],
)
def test_in_parallel_nobody_waits(replicas: int, states: str, expected: list[str]) -> None:
    """Every pod is created or deleted whatever the others do; only what is going already is left alone."""
    spec = a_set(replicas, parallel=True)

    assert expected == steps(spec, members(spec, states))


@pytest.mark.parametrize(
    ("fields", "states", "expected"),
    [
        ({}, "rrr", ["delete 2"]),
        ({}, "rrR", ["delete 1"]),
        ({}, "Rrr", ["delete 2"]),
        ({}, "rrN", []),
        ({}, "rnR", []),
        ({}, "rrf", ["delete 2"]),
        ({"partition": 1}, "rrR", ["delete 1"]),
        ({"partition": 2}, "rrR", []),
        ({"partition": 9}, "rrr", []),
        ({"strategy": "OnDelete"}, "rrr", []),
        ({"parallel": True}, "rnR", ["delete 1"]),
        ({"parallel": True}, "nrR", ["delete 1"]),
        ({"parallel": True}, "rrN", []),
        ({"parallel": True}, "rrf", ["delete 2"]),
        ({"unavailable": 2}, "rrr", ["delete 2", "delete 1"]),
        ({"unavailable": 2, "parallel": True}, "rrN", ["delete 1"]),
        ({"unavailable": 2, "parallel": True}, "nrN", []),
        ({"unavailable": "67%"}, "rrr", ["delete 2", "delete 1"]),
        ({"unavailable": "10%"}, "rrr", ["delete 2"]),
        ({"unavailable": 3, "partition": 2}, "rrr", ["delete 2"]),
    ],
)
def test_updates_go_from_the_top(fields: dict[str, Any], states: str, expected: list[str]) -> None:
    """Down to the partition; one by one unless maxUnavailable allows more; with OnDelete not at all."""
    spec = a_set(3, **fields)

    assert expected == steps(spec, members(spec, states))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [NEW, NEW, NEW]),
        ({"partition": 2}, [OLD, OLD, NEW]),
        ({"partition": 1, "ordinals": {"start": 5}}, [OLD, NEW, NEW]),
        ({"strategy": "OnDelete", "status": {"currentReplicas": 3}}, [NEW, NEW, NEW]),
        (
            {"updateStrategy": {"type": "RollingUpdate"}, "status": {"currentReplicas": 1}},
            [OLD, NEW, NEW],
        ),
    ],
)
def test_a_new_pod_has_the_template_of_its_ordinal(fields: dict[str, Any], expected: list[str]) -> None:
    """Below the partition the old one; without any, as many as still had it."""
    spec = a_set(3, parallel=True, **fields)

    created = [step.pod for phase in plan(spec, REVISIONS, [], {}, NOW).phases for step in phase if step.verb == CREATE]

    images = {OLD: "example.com/app:1", NEW: "example.com/app:2"}
    assert expected == [pod["metadata"]["labels"][REVISION_LABEL] for pod in created]
    assert [images[name] for name in expected] == [pod["spec"]["containers"][0]["image"] for pod in created]


def test_a_changed_start_moves_the_range() -> None:
    """What lies outside is surplus, what is missing is created first."""
    spec = a_set(2, ordinals={"start": 6})

    assert ["create 7"] == steps(spec, members(spec, "RR", first=5))
    assert ["delete 5"] == steps(spec, members(spec, "RRR", first=5))


def test_time_counts_as_readiness_does() -> None:
    """A pod that has not been ready for minReadySeconds is waited for."""
    early, late = a_set(2, minReadySeconds=31), a_set(2, minReadySeconds=30)

    assert ([], ["create 1"]) == (steps(early, members(early, "R")), steps(late, members(late, "R")))


def test_a_set_that_is_being_deleted_is_left_alone() -> None:
    """Its pods are counted and nothing else."""
    spec = a_set(3, deleted=True)

    assert ([], 1) == (steps(spec, members(spec, "R")), len(plan(spec, REVISIONS, members(spec, "R"), {}, NOW).members))


def test_a_lost_name_label_comes_back() -> None:
    """The pod is updated; the rest of its labels stay."""
    spec = a_set(1)
    (pod,) = members(spec, "R")
    labels = dict(pod["metadata"]["labels"])
    del pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"]

    ((step,), *_) = plan(spec, REVISIONS, [pod], {}, NOW).phases

    assert ("update", labels) == (step.verb, step.pod["metadata"]["labels"])


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("rrr", (3, 3, 3, 3, 0, OLD)),
        ("rrR", (3, 3, 3, 2, 1, OLD)),
        ("rrT", (3, 3, 3, 2, 0, OLD)),
        ("rRN", (3, 2, 2, 1, 2, OLD)),
        ("RRP", (3, 2, 2, 0, 3, OLD)),
        ("RR", (2, 2, 2, 0, 2, OLD)),
        ("RRR", (3, 3, 3, 3, 3, NEW)),
    ],
)
def test_the_status_counts(states: str, expected: tuple[Any, ...]) -> None:
    """Pods, ready, available, of the old template and of the new; once all are new and ready the update is over."""
    spec = a_set(3)

    found = status.compute(spec, REVISIONS, members(spec, states), NOW, going=0)

    counters = ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")
    assert expected == (*(found[counter] for counter in counters), found["currentRevision"])
    assert (2, NEW, 0) == (found["observedGeneration"], found["updateRevision"], found["collisionCount"])


def test_the_template_of_a_revision_says_no_more_than_the_pod() -> None:
    """Identity comes on top of the template and does not change it."""
    plan(a_set(3, parallel=True), REVISIONS, [], {}, NOW)

    assert (a_template("1"), a_template("2")) == (REVISIONS.current_template, REVISIONS.update_template)
