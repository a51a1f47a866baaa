"""Which pods go first: one test a rule, in the order in which the rules decide."""

import random

import pytest

from controllers.replicaset import victims
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.workloads import NOW, a_pod

COST = "controller.kubernetes.io/pod-deletion-cost"


def restarted(times: int) -> Object:
    return {"containerStatuses": [{"name": "c", "restartCount": times}]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (a_pod("first", node="", ready=None), a_pod("second", phase="Pending", ready=None)),
        (a_pod("first", phase="Pending"), a_pod("second", phase="Unknown", ready=None)),
        (a_pod("first", phase="Unknown"), a_pod("second", ready=None)),
        (a_pod("first", ready=None), a_pod("second", annotations={COST: "-5"})),
        (a_pod("first", annotations={COST: "-5"}), a_pod("second")),
        (a_pod("first"), a_pod("second", annotations={COST: "10"})),
        (a_pod("first", annotations={COST: "007"}), a_pod("second", annotations={COST: "3"}, ready=1)),
        (a_pod("first", node="full", ready=900), a_pod("second", node="empty", ready=1)),
        (a_pod("first", ready=10), a_pod("second", ready=1000, status=restarted(3))),
        (a_pod("first", ready=None, status=restarted(3)), a_pod("second", ready=None, age=1)),
        (a_pod("first", ready=None, age=10), a_pod("second", ready=None, age=1000)),
        (a_pod("first", uid="a", ready=1000, age=5000), a_pod("second", uid="b", ready=1001, age=10)),
    ],
    ids=[
        "without a node",
        "pending",
        "unknown",
        "not ready",
        "negative cost",
        "no cost",
        "a cost with leading zeros counts as none",
        "crowded node",
        "ready for a shorter time",
        "more restarts",
        "younger",
        "of one magnitude: by uid",
    ],
)
def test_the_first_goes_before_the_second(first: Object, second: Object) -> None:
    """The first rule that tells two pods apart decides, whatever later rules would say."""
    related = [a_pod("x", node="full"), a_pod("y", node="full"), a_pod("z", node="empty")]

    chosen = [victims.choose(pods, related, 1, NOW) for pods in ([first, second], [second, first])]

    assert [["first"], ["first"]] == [[name_of(pod) for pod in pods] for pods in chosen]


def test_done_pods_do_not_crowd_a_node() -> None:
    """Only active pods count towards how crowded a node is."""
    crowd = [a_pod(f"done-{i}", node="a", phase="Succeeded") for i in range(5)]
    related = [*crowd, a_pod("x", node="b"), a_pod("y", node="b")]

    chosen = victims.choose([a_pod("on-a", node="a"), a_pod("on-b", node="b")], related, 1, NOW)

    assert ["on-b"] == [name_of(pod) for pod in chosen]


def test_the_choice_does_not_depend_on_the_order_of_the_cache() -> None:
    """Shuffled candidates yield the same victims."""
    pods = [a_pod(f"p{i}", ready=i * 7 % 5 or None, node=f"n{i % 3}", age=i * 100) for i in range(20)]
    shuffled = random.Random(1).sample(pods, len(pods))

    expected = [name_of(pod) for pod in victims.choose(pods, pods, 7, NOW)]

    assert expected == [name_of(pod) for pod in victims.choose(shuffled, shuffled, 7, NOW)]
