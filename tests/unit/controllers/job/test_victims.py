"""Which pods of a Job go first."""

import pytest

from controllers.job import victims
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.jobs import a_job_pod

RESTARTED = {"containerStatuses": [{"restartCount": 2}]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (a_job_pod("first", node=""), a_job_pod("second")),
        (a_job_pod("first", "Pending", ready=50), a_job_pod("second", ready=None)),
        (a_job_pod("first", ready=None), a_job_pod("second")),
        (a_job_pod("first", ready=10, age=90), a_job_pod("second", ready=20, age=60)),
        (a_job_pod("first", ready=20, status=RESTARTED), a_job_pod("second", ready=20)),
        (a_job_pod("first", age=10, ready=None), a_job_pod("second", age=20, ready=None)),
    ],
)
def test_the_less_far_a_pod_has_come_the_earlier_it_goes(first: Object, second: Object) -> None:
    """Without a node, pending, not ready, ready for a shorter time, restarted more often, younger."""
    assert ["first"] == [name_of(pod) for pod in victims.choose([second, first], 1)]


@pytest.mark.parametrize(("at_least", "expected"), [(0, "ab34"), (4, "ab34"), (5, "ab3401")])
def test_pods_without_an_index_of_their_own_go_first(at_least: int, expected: str) -> None:
    """Those with no index, one out of range or a doubled one go in any case."""
    active = [
        a_job_pod("0", index=0, ready=9),
        a_job_pod("1", index=1, ready=50),
        a_job_pod("3", index=3, ready=2),
        a_job_pod("4", index=2, ready=1),
        a_job_pod("2", index=2, ready=20),
        a_job_pod("a"),
        a_job_pod("b", index=None),
    ]

    chosen = victims.choose_indexed(active, at_least, completions=3)

    assert set(expected[: max(4, at_least)]) == {name_of(pod) for pod in chosen}
