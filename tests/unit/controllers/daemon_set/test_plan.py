"""What nodes lack and have too much of, and how updates go on. For the letters of pods see `situations.a_member`."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.daemon_set import rolling, status
from controllers.daemon_set.plan import plan
from tests.unit.controllers.daemon_set.situations import a_situation, names


@pytest.mark.parametrize(
    ("pods", "fields", "create", "delete", "finished"),
    [
        ({"a": "", "b": "R"}, {}, ["a"], [], []),
        ({"a": "N"}, {}, [], [], []),
        ({"a": "P"}, {}, [], [], []),
        ({"a": "T"}, {}, [], [], []),
        ({"a": "RR"}, {}, [], ["aR"], []),
        ({"a": "PR"}, {}, [], ["aP"], []),
        ({"a": "F"}, {}, [], [], ["aF"]),
        ({"a": "S"}, {}, [], [], ["aS"]),
        ({"a": "FR"}, {}, [], [], ["aF"]),
        ({"a": "R", "b": ""}, {"without": ["a", "b"]}, [], ["aR"], []),
        ({"a": "RT"}, {"without": ["a"]}, [], ["aR"], []),
        ({"a": "P"}, {"missing": ["a"]}, [], ["aP"], []),
        ({"a": "R"}, {"missing": ["a"]}, [], [], []),
        ({"a": "T"}, {"surge": 1}, ["a"], [], []),
        ({"a": "F"}, {"surge": 1}, ["a"], [], ["aF"]),
        ({"a": "rN"}, {"surge": 1}, [], [], []),
        ({"a": "rR"}, {"surge": 1}, [], ["ar"], []),
        ({"a": "nN"}, {"surge": 1}, [], ["an"], []),
        ({"a": "rNN"}, {"surge": 1}, [], ["aN"], []),
        ({"a": "rrN"}, {"surge": 1}, [], ["ar"], []),
    ],
)
def test_every_node_gets_what_it_ought_to_have(
    pods: Any, fields: Any, create: list[str], delete: list[str], finished: list[str]
) -> None:
    """One pod, during a surge one of each template while the new one is not available."""
    changes = plan(a_situation(pods, **fields))

    found = list(changes.create), names(changes.delete), names([each.pod for each in changes.finished])
    assert (create, delete, finished) == found


@pytest.mark.parametrize(
    ("pods", "fields", "expected"),
    [
        ({"a": "r", "b": "r", "c": "r"}, {}, ["ar"]),
        ({"a": "R", "b": "r", "c": "r"}, {}, ["br"]),
        ({"a": "N", "b": "r", "c": "r"}, {}, []),
        ({"a": "", "b": "r", "c": "r"}, {}, []),
        ({"a": "T", "b": "r", "c": "r"}, {}, []),
        ({"a": "n", "b": "r", "c": "r"}, {}, ["an"]),
        ({"a": "n", "b": "n", "c": "r"}, {}, ["an", "bn"]),
        ({"a": "n", "b": "n", "c": "r"}, {"unavailable": 3}, ["an", "bn", "cr"]),
        ({"a": "r", "b": "r", "c": "r"}, {"unavailable": 2}, ["ar", "br"]),
        ({"a": "r", "b": "r", "c": "r"}, {"unavailable": "34%"}, ["ar", "br"]),
        ({"a": "r", "b": "r", "c": "r"}, {"unavailable": 0}, ["ar"]),
        ({"a": "R", "b": "R"}, {}, []),
        ({"a": "r"}, {"minReadySeconds": 31, "unavailable": 0}, ["ar"]),
    ],
)
def test_old_pods_go_within_the_limit(pods: Any, fields: Any, expected: list[str]) -> None:
    """Those that are not available at once; others while fewer than maxUnavailable nodes are without."""
    changes = rolling.plan(a_situation(pods, **fields))

    assert ((), expected) == (changes.create, names(changes.delete))


@pytest.mark.parametrize(
    ("pods", "fields", "create", "delete"),
    [
        ({"a": "r", "b": "r", "c": "r"}, {}, ["a"], []),
        ({"a": "r", "b": "r", "c": "r"}, {"surge": 2}, ["a", "b"], []),
        ({"a": "r", "b": "r", "c": "r"}, {"surge": "50%"}, ["a", "b"], []),
        ({"a": "rN", "b": "r"}, {}, [], []),
        ({"a": "rP", "b": "r"}, {}, [], []),
        ({"a": "rR", "b": "r"}, {}, ["b"], ["ar"]),
        ({"a": "R", "b": "r"}, {}, ["b"], []),
        ({"a": "n", "b": "r"}, {}, ["a", "b"], []),
        ({"a": "n", "b": "rN"}, {}, ["a"], []),
        ({"a": "r", "b": "R"}, {"without": ["a"]}, [], ["ar"]),
        ({"a": "r", "b": "N"}, {"without": ["a"]}, [], []),
        ({"a": "n", "b": "N"}, {"without": ["a"]}, [], ["an"]),
        ({"a": "rrN", "b": "r"}, {}, [], []),
    ],
)
def test_new_pods_come_first_in_a_surge(pods: Any, fields: Any, create: list[str], delete: list[str]) -> None:
    """On maxSurge nodes at once, and wherever the old one is of no use; it goes when the new one is available."""
    changes = rolling.plan(a_situation(pods, unavailable=0, **{"surge": 1, **fields}))

    assert (create, delete) == (list(changes.create), names(changes.delete))


@pytest.mark.parametrize(
    ("pods", "fields", "expected"),
    [
        ({"a": "R", "b": "N", "c": ""}, {}, (3, 2, 0, 1, 2, 1, 2)),
        ({"a": "r", "b": "R"}, {}, (2, 2, 0, 2, 1, 2, 0)),
        ({"a": "rN"}, {}, (1, 1, 0, 1, 0, 1, 0)),
        ({"a": "PR"}, {}, (1, 1, 0, 1, 1, 1, 0)),
        ({"a": "R", "b": "R"}, {"without": ["a"]}, (1, 1, 1, 1, 1, 1, 0)),
        ({"a": "R"}, {"missing": ["a"]}, (0, 0, 0, 0, 0, 0, 0)),
        ({"a": "R"}, {"minReadySeconds": 31}, (1, 1, 0, 1, 1, 0, 1)),
    ],
)
def test_the_status_counts_nodes(pods: Any, fields: Any, expected: tuple[int, ...]) -> None:
    """Wanted, with a pod, with one too many; of the pods (the oldest of a node) ready, new, available; and the rest."""
    found = status.compute(a_situation(pods, **fields), has_acted=True)

    counters = ("desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady")
    counters += ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")
    assert (*expected, 2) == (*(found[counter] for counter in counters), found["observedGeneration"])


def test_what_was_not_acted_on_is_not_observed() -> None:
    """The counters are new, the generation is not."""
    situation = a_situation({"a": "R"}, status={"observedGeneration": 1, "numberReady": 0})

    found = status.compute(situation, has_acted=False)

    assert (1, 1, True) == (found["numberReady"], found["observedGeneration"], status.differs(situation.spec, found))


def test_a_pod_of_the_present_generation_is_up_to_date() -> None:
    """Whatever its hash: pods of older versions have no other mark."""
    situation = a_situation({"a": "r"}, annotations={"deprecated.daemonset.template.generation": "7"})
    (pod,) = situation.on("a")
    marked = {**pod, "metadata": {**pod["metadata"], "labels": {"pod-template-generation": "7"}}}

    assert (False, True) == (situation.is_updated(pod), situation.is_updated(marked))
