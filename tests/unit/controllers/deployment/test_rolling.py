"""How far a rolling update goes in one step."""

import pytest

from controllers.deployment import rolling
from controllers.deployment.model import Rollout, Scale, SetState
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import a_deployment, a_replica_set


def step(deployment: Object, new: Object, *old: Object) -> list[tuple[str, int]]:
    scales = rolling.plan(Rollout.of(deployment), SetState.of(new), [SetState.of(each) for each in old])
    return [(scale.name, scale.replicas) for scale in scales]


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "new", "old", "expected"),
    [
        (3, 1, 0, (0, 0), (3, 3), [("new", 1)]),
        (3, 1, 0, (1, 0), (3, 3), []),
        (3, 1, 0, (1, 1), (3, 3), [("old", 2)]),
        (3, 1, 0, (1, 1), (2, 2), [("new", 2)]),
        (4, 0, 1, (0, 0), (4, 4), [("old", 3)]),
        (4, 0, 1, (0, 0), (3, 3), [("new", 1)]),
        (10, "30%", "20%", (3, 0), (10, 10), [("old", 8)]),
        (10, "30%", "20%", (3, 0), (8, 8), [("new", 5)]),
        (10, "30%", "20%", (5, 0), (8, 8), []),
        (5, "100%", 0, (0, 0), (5, 5), [("new", 5)]),
        (5, "100%", 0, (5, 2), (5, 5), [("old", 3)]),
        (8, 2, "25%", (2, 0), (8, 8), [("old", 6)]),
        (3, "25%", "25%", (0, 0), (3, 3), [("new", 1)]),
        (0, 1, 1, (0, 0), (3, 3), [("old", 0)]),
        (3, 1, 0, (5, 5), (0, 0), [("new", 3)]),
        (3, 1, 0, (3, 3), (0, 0), []),
        (3, 0, 0, (0, 0), (3, 3), [("old", 2)]),
    ],
)
def test_surge_and_unavailability_bound_each_step(
    replicas: int,
    surge: object,
    unavailable: object,
    new: tuple[int, int],
    old: tuple[int, int],
    expected: list[tuple[str, int]],
) -> None:
    """Up as far as the surge allows, else down as far as availability allows; `new` and `old`: replicas, available."""
    deployment = a_deployment(replicas, surge=surge, unavailable=unavailable)
    new_set = a_replica_set("new", new[0], available=new[1], age=0)
    old_set = a_replica_set("old", old[0], available=old[1])

    assert expected == step(deployment, new_set, old_set)


def test_unhealthy_old_pods_go_before_healthy_ones() -> None:
    """Old pods that are not available are cleaned up first, and count towards what may go."""
    deployment = a_deployment(10, surge=3, unavailable=2)
    oldest = a_replica_set("oldest", 6, available=6, age=300)
    newer = a_replica_set("newer", 4, available=1, age=200)

    # 13 pods, 8 must be available, 3 new ones are not yet: two may go.
    assert [("newer", 2)] == step(deployment, a_replica_set("new", 3, available=0, age=0), oldest, newer)


def test_both_steps_on_one_replica_set_are_told_apart() -> None:
    """First the unhealthy pods, then healthy ones beyond the minimum: two steps, as two events tell them."""
    deployment = a_deployment(4, surge=4, unavailable=2)

    steps = step(deployment, a_replica_set("new", 4, available=2, age=0), a_replica_set("old", 4, available=3))

    assert [("old", 3), ("old", 0)] == steps


def test_a_step_names_no_refresh() -> None:
    """A rollout's step changes numbers only; sizes are noted anew whenever a ReplicaSet is scaled anyway."""
    rollout = Rollout.of(a_deployment(3, surge=1, unavailable=0))

    steps = rolling.plan(rollout, SetState.of(a_replica_set("new", 0)), [SetState.of(a_replica_set("old", 3))])

    assert [Scale("new", 1)] == steps
