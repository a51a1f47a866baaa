"""Scaling a Deployment, at rest and in the middle of a rollout."""

from typing import Any

import pytest

from controllers.deployment import scaling
from controllers.deployment.model import Rollout, SetState
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import a_deployment, a_replica_set

DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


def a_set(name: str, replicas: int, max_replicas: int | None = None, **fields: Any) -> Object:
    annotations = {} if max_replicas is None else {MAX: str(max_replicas)}
    return a_replica_set(name, replicas, annotations=annotations, **fields)


def sizes(deployment: Object, new: Object | None, *old: Object) -> dict[str, int]:
    states = [SetState.of(each) for each in old]
    return {s.name: s.replicas for s in scaling.plan(Rollout.of(deployment), SetState.of(new) if new else None, states)}


@pytest.mark.parametrize(
    ("replicas", "new", "old", "expected"),
    [
        (15, ("new", 5, 13), [("old", 8, 13)], {"old": 11, "new": 7}),
        (5, ("new", 5, 13), [("old", 8, 13)], {"old": 5, "new": 3}),
        (0, ("new", 5, 13), [("old", 8, 13)], {"old": 0, "new": 0}),
        (10, ("new", 5, 13), [("old", 8, 13)], {"old": 8, "new": 5}),
        (20, ("new", 3, 10), [("one", 4, 10), ("two", 3, 10)], {"one": 9, "new": 7, "two": 7}),
        (12, ("new", 5, None), [("old", 8, None)], {"old": 10, "new": 5}),
    ],
    ids=["up", "down", "to zero", "same size", "three", "annotations lost: by the status"],
)
def test_the_difference_is_shared_out_by_size(
    replicas: int, new: tuple[Any, ...], old: list[tuple[Any, ...]], expected: dict[str, int]
) -> None:
    """Each keeps its proportion of the whole, and the whole is what replicas and surge allow."""
    deployment = a_deployment(replicas, surge=3, unavailable=2, status={"replicas": 15})
    old_sets = [a_set(*each, age=100 + i) for i, each in enumerate(old)]

    assert expected == sizes(deployment, a_set(*new, age=0), *old_sets)


@pytest.mark.parametrize(
    ("before", "after", "sizes_before", "sizes_after"),
    [
        (5, 10, [2, 3], [4, 6]),
        (5, 3, [2, 3], [1, 2]),
        (9, 4, [8, 1], [4, 0]),
        (7, 10, [2, 3, 2], [3, 4, 3]),
        (13, 8, [2, 8, 3], [1, 5, 2]),
        (3, 4, [1, 1, 1], [2, 1, 1]),
        (3, 2, [1, 1, 1], [1, 1, 0]),
        (6, 0, [3, 2, 1], [0, 0, 0]),
    ],
)
def test_what_rounding_leaves_over(before: int, after: int, sizes_before: list[int], sizes_after: list[int]) -> None:
    """It goes to the largest when growing, of equal ones to the newest, and comes off the oldest when shrinking."""
    noted = {DESIRED: str(before), MAX: str(before)}
    names = [f"set-{i}" for i in range(len(sizes_before))]  # the newest first
    sets = [
        a_replica_set(name, size, annotations=noted, age=100 * i)
        for i, (name, size) in enumerate(zip(names, sizes_before, strict=True))
    ]

    changed = sizes(a_deployment(after, surge=0, unavailable=1), *sets)

    assert sizes_after == [changed[name] for name in names]


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (a_set("new", 3), [], {"new": 5}),
        (a_set("new", 5), [a_set("old", 0)], {}),
        (a_set("new", 0), [a_set("old", 3)], {"old": 5}),
        (a_set("new", 0), [a_set("old", 0)], {"new": 5}),
        (None, [a_set("older", 0, age=200), a_set("newer", 0, age=100)], {"newer": 5}),
        (None, [], {}),
    ],
    ids=["one", "right already", "the only active one", "none active: the new one", "none active: the newest", "none"],
)
def test_one_replica_set_takes_all(new: Object | None, old: list[Object], expected: dict[str, int]) -> None:
    """Where at most one has pods there is nothing to share."""
    assert expected == sizes(a_deployment(5), new, *old)


def test_a_saturated_new_replica_set_ends_the_others() -> None:
    """An adopted old ReplicaSet is scaled down at once where the new one has all its pods."""
    new = a_replica_set("new", 3, annotations={DESIRED: "3"})

    assert {"old": 0} == sizes(a_deployment(3), new, a_set("old", 2, age=100))


@pytest.mark.parametrize(
    ("noted", "expected"), [("3", False), ("2", True), ("", False), ("three", False), ("-1", False)]
)
def test_scaling_is_told_by_the_annotation(noted: str, expected: bool) -> None:
    """A number other than the Deployment's is a scaling; a lost or spoilt one is not."""
    replica_set = a_replica_set("new", 3, annotations={DESIRED: noted} if noted else {})

    assert expected == scaling.is_scaled(Rollout.of(a_deployment(3)), [SetState.of(replica_set)])


def test_an_empty_replica_set_tells_of_no_scaling() -> None:
    """Old empty ReplicaSets keep the annotations of their time."""
    replica_set = a_replica_set("old", 0, annotations={DESIRED: "7"})

    assert not scaling.is_scaled(Rollout.of(a_deployment(3)), [SetState.of(replica_set)])
