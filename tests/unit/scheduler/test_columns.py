"""What nodes answered is kept until they change, and asked again then and only then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.scheduler import columns
from controllers.scheduler.cache import Cache
from controllers.scheduler.columns import Shares
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.snapshot import Snapshot
from kubeloop.testing.builders import a_pod
from tests.unit.scheduler.scene import in_zone, info


class Interview:
    """Counts pods, and remembers whom it asked."""

    def __init__(self, zones: dict[str, str]) -> None:
        self.cache = Cache()
        self.snapshot = Snapshot()
        self.asked: list[str] = []
        for name, zone in zones.items():
            self.cache.set_node(in_zone(name, zone))
        self.cache.update(self.snapshot)

    def pods(self, *names: str) -> list[int]:
        def ask(nodes: Sequence[NodeInfo]) -> list[int]:
            self.asked += [node.name for node in nodes]
            return [len(node.pods) for node in nodes]

        nodes = [node for node in self.snapshot.nodes if not names or node.name in names]
        return self.snapshot.answers("pods", ask, nodes)

    def pods_by_zone(self) -> dict[str, int]:
        def ask(nodes: Sequence[NodeInfo]) -> list[Shares]:
            return [((node.labels["topology.kubernetes.io/zone"], len(node.pods)),) for node in nodes]

        return self.snapshot.totals("pods by zone", ask)

    def place(self, pod: str, node: str) -> None:
        self.cache.add_pod(info(a_pod(pod).on(node)))
        self.cache.update(self.snapshot)


def test_only_what_changed_is_asked_again() -> None:
    """A node answers once, until a pod comes."""
    interview = Interview({"a": "x", "b": "x", "c": "x"})
    interview.pods()
    interview.asked.clear()

    interview.place("p", "b")

    assert [0, 1, 0] == interview.pods()
    assert [0, 1, 0] == interview.pods()
    assert ["b"] == interview.asked


def test_nodes_nobody_looks_at_are_not_asked() -> None:
    """A search that ends early has not asked the rest; who comes later asks them."""
    interview = Interview({"a": "x", "b": "x", "c": "x"})

    assert [0] == interview.pods("a")
    assert ["a"] == interview.asked
    assert [0, 0, 0] == interview.pods()
    assert ["a", "b", "c"] == sorted(interview.asked)


def test_questions_do_not_get_each_others_answers() -> None:
    """Each has a column of its own, whatever the order of the nodes asked."""
    interview = Interview({"a": "x", "b": "x"})
    nodes = list(reversed(interview.snapshot.nodes))

    assert [0, 0] == interview.pods()
    assert ["b", "a"] == interview.snapshot.answers("name", lambda asked: [node.name for node in asked], nodes)


def test_totals_follow() -> None:
    """Shares are taken back where a node says something else, and a domain goes with its last node."""
    interview = Interview({"a": "x", "b": "y"})
    interview.place("p", "a")
    assert {"x": 1, "y": 0} == interview.pods_by_zone()

    interview.cache.set_node(in_zone("c", "y"))
    interview.cache.set_node(in_zone("b", "y").tainted("t"))
    interview.place("q", "c")
    assert {"x": 1, "y": 1} == interview.pods_by_zone()

    labels = {"topology.kubernetes.io/zone": "y"}
    moved = interview.snapshot.get("a")
    assert moved is not None
    copy = moved.copy()
    copy.labels = labels
    interview.snapshot.replace(copy)
    assert {"y": 2} == interview.pods_by_zone()


def test_too_many_changes_are_a_new_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of changes is bounded; when it is full, nodes are asked anew."""
    monkeypatch.setattr(columns, "MAX_CHANGES", 3)
    interview = Interview({"a": "x", "b": "x"})

    for number in range(10):
        interview.place(f"p{number}", "ab"[number % 2])
        assert number + 1 == sum(interview.pods())


def test_too_many_questions_push_out_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for again and again stays."""
    monkeypatch.setattr(columns, "MAX_COLUMNS", 2)
    interview = Interview({"a": "x"})

    for number in range(5):
        interview.pods()
        interview.snapshot.answers(number, lambda asked: [0] * len(asked), interview.snapshot.nodes)

    assert ["a"] == interview.asked


def test_answers_may_be_made_of_answers() -> None:
    """Whoever asks nodes may ask the same snapshot for what those nodes have answered to something else."""
    interview = Interview({"a": "x", "b": "x", "c": "x"})
    interview.pods()
    interview.place("p", "b")

    def twice(nodes: Sequence[NodeInfo]) -> list[int]:
        counted = interview.snapshot.answers("pods", lambda asked: [len(node.pods) for node in asked], nodes)
        return [2 * number for number in counted]

    nodes = interview.snapshot.nodes
    assert [0, 2, 0] == interview.snapshot.answers("twice", twice, nodes)
    interview.place("q", "c")
    assert [0, 2, 2] == interview.snapshot.answers("twice", twice, nodes)


@given(st.data())
def test_values_are_those_at_the_positions(data: st.DataObject) -> None:
    """Whether the positions are a piece, two pieces around the end, or any."""
    size = data.draw(st.integers(1, 12))
    start, count = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))
    turn = [(start + i) % size for i in range(count)]
    positions = data.draw(
        st.just(turn) | st.permutations(range(size)) | st.lists(st.integers(0, size - 1), unique=True)
    )
    values = [f"of {i}" for i in range(size)]

    assert [values[i] for i in positions] == columns._picker(positions, size)(values)
