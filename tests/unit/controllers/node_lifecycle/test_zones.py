"""How much of a zone is down, and how fast its nodes may be tainted."""

import math

import pytest

from controllers.node_lifecycle.rate_limit import RateLimit
from controllers.node_lifecycle.settings import Settings
from controllers.node_lifecycle.zones import State, Zones, state_of, zone_of

A, B = ("", "a"), ("", "b")


@pytest.mark.parametrize(
    ("ready", "unready", "expected"),
    [
        (0, 0, State.NORMAL),
        (1, 0, State.NORMAL),
        (0, 1, State.FULL),
        (1, 2, State.NORMAL),
        (2, 3, State.PARTIAL),
        (9, 11, State.PARTIAL),
        (3, 3, State.NORMAL),
        (0, 5, State.FULL),
    ],
)
def test_states(ready: int, unready: int, expected: State) -> None:
    """Partly disrupted: more than two nodes are not ready, and they are at least 55 percent."""
    assert expected == state_of([True] * ready + [False] * unready, 0.55)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, ("", "")),
        ({"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r"}, ("r", "a")),
        ({"topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": "old"}, ("", "old")),
    ],
)
def test_zone_of_a_node(labels: dict[str, str], expected: tuple[str, str]) -> None:
    """Region and zone by its labels, the older ones first."""
    assert expected == zone_of({"metadata": {"name": "n", "labels": labels}})


@pytest.mark.parametrize(
    ("of_a", "of_b", "seconds_between"),
    [
        ([True] * 5, [True], 10),
        ([False] * 5, [True], 10),
        ([True] * 2 + [False] * 3, [True], math.inf),
        ([True] * 20 + [False] * 31, [True], 100),
        ([False], [False], math.inf),
    ],
)
def test_rates(of_a: list[bool], of_b: list[bool], seconds_between: float) -> None:
    """A small zone that is partly down stops, a large one slows down; all zones down stop everything."""
    zones = Zones(Settings())
    zones.update({A, B}, {A: [True], B: [True]}, now=0)
    zones.limit(A).take(0)

    zones.update({A, B}, {A: of_a, B: of_b}, now=0)

    assert seconds_between == zones.limit(A).free_at


def test_a_cluster_is_down_when_no_node_is_ready() -> None:
    """And only then; nodes that do not count make no difference."""
    zones = Zones(Settings())

    outcomes = []
    for ready in ({A: [False], B: [False, True]}, {A: [False], B: [False]}, {A: [True], B: [False]}, {}):
        zones.update({A, B}, ready, now=0)
        outcomes.append(zones.is_cluster_down)

    assert [False, True, False, False] == outcomes


def test_a_limit_lets_one_through_at_a_time() -> None:
    """The next one after 1/rate seconds; what is saved up meanwhile is one."""
    limit = RateLimit(0.1)

    assert [True, False, True, True, False] == [limit.take(now) for now in (0, 9.9, 10, 100, 109)]


def test_a_new_rate_gives_no_free_turn() -> None:
    """Who had to wait waits as long as the new rate says, and rate 0 lets nobody through."""
    limit = RateLimit(0.1)
    limit.take(0)

    limit.change(0, now=1)
    at_zero = limit.take(1000)
    limit.change(1, now=1000)

    assert [False, False, True] == [at_zero, limit.take(1000.5), limit.take(1001)]
