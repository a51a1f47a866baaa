"""What simulated containers log: by their command, by annotations, and otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from kubelet_sim import log, pod_spec
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def logged(count: int = 10, from_seconds: float = 0, annotations: dict[str, str] | None = None, **fields: Any) -> Any:
    """(second, text) of the first lines."""
    container = a_container(**fields)
    pod = a_pod(container, annotations=annotations)
    found = islice((line for line in log.lines(pod, container, START, from_seconds) if line.stream), count)
    return [(round(line.after_seconds), line.text) for line in found]


def said(text: str, count: int = 10) -> Any:
    return logged(count, annotations={"kubeloop.io/log": text})


def a_script(script: str, count: int = 10, **fields: Any) -> Any:
    return logged(count, command=["sh", "-c", script], **fields)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo hello; sleep 2; echo 'good bye'", [(0, "hello"), (2, "good bye")]),
        ("for i in 1 2; do echo line $i; sleep 1; done", [(0, "line 1"), (1, "line 2")]),
        ("sleep 61; date +%H:%M:%S", [(61, "12:01:01")]),
        ("printf 'no end'", [(0, "no end")]),
        ("echo out > /tmp/file; cat /tmp/file; echo hidden > /dev/null", [(0, "out")]),
        ("seq 3 | grep -v 2 | wc -l", [(0, "2")]),
        ("echo before; nginx; echo after", [(0, "before")]),
    ],
)
def test_a_log_is_what_the_command_would_print(script: str, expected: Any) -> None:
    """At the times at which it would print it, as far as every word is known."""
    assert expected == a_script(script)


def test_a_loop_goes_on() -> None:
    """As far as anybody reads."""
    assert [(0, "tick"), (5, "tick"), (10, "tick")] == a_script("while true; do echo tick; sleep 5; done", 3)


def test_a_loop_that_repeats_itself_costs_nothing_for_the_time_that_nobody_asks_for() -> None:
    """A container that has run for a year is read as quickly as one that has just begun."""
    year = 365 * 86400.0
    found = logged(3, year, command=["sh", "-c", "while true; do date +%j; sleep 1; done"])

    assert (0, "001") == found[0]
    assert year - 5 < found[1][0] <= year
    assert found[1][0] + 1 == found[2][0]


def test_the_environment_is_in_the_log() -> None:
    """Variables of the container, of the downward API, and those that Kubernetes puts into the command."""
    env = [
        {"name": "GREETING", "value": "hello"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]

    assert [(0, "hello from p in c, hello")] == a_script("echo $GREETING from $POD in c, $(GREETING)", env=env)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("listening on :8080", [(0, "listening on :8080")]),
        ("after 3s: ready\nstarting", [(0, "starting"), (3, "ready")]),
        ("every 5s: request {n}", [(5, "request 1"), (10, "request 2"), (15, "request 3")]),
        ("after 1s: note: this", [(1, "note: this")]),
        ("every now and then: no statement", [(0, "every now and then: no statement")]),
    ],
)
def test_an_annotation_says_what_is_logged(text: str, expected: Any) -> None:
    """A line each: at the start, after a time, or again and again."""
    assert expected == said(text, 3)


def test_an_annotation_comes_beside_the_command_and_for_one_container() -> None:
    """Both in the order of time; `.NAME` is meant for that container alone."""
    annotations = {"kubeloop.io/log.c": "after 1s: from c", "kubeloop.io/log.other": "from other"}

    found = logged(annotations=annotations, command=["sh", "-c", "echo a; sleep 2; echo b"])

    assert [(0, "a"), (1, "from c"), (2, "b")] == found


def test_a_line_can_go_to_the_standard_error_stream() -> None:
    """Said by the annotation, or by a redirect in the command."""
    container = a_container(command=["sh", "-c", "echo fails >&2"])
    pod = a_pod(container, annotations={"kubeloop.io/log": "stderr: warns"})

    assert {(2, "warns"), (2, "fails")} == {(line.stream, line.text) for line in log.lines(pod, container, START)}


def test_a_container_of_which_nothing_is_known_says_what_it_is() -> None:
    """One line, so that nobody takes an empty log for a broken one."""
    [(second, text)] = logged(image="nginx:1.27")

    assert second == 0
    assert "container c" in text and "is simulated" in text and "nginx:1.27" in text


@pytest.mark.parametrize("text", ["every soon: x", "after 5: x", "every 1ms: x"])
def test_a_senseless_annotation_is_told_and_left_out(text: str) -> None:
    """The event and the log itself name the annotation; all else is as without it."""
    pod = a_pod(annotations={"kubeloop.io/log": text})
    (problem,) = pod_spec.annotation_errors(pod)

    assert problem.startswith("annotation kubeloop.io/log: ")
    assert [(0, f"kubeloop: {problem}")] == said(text)[:1]
    assert "is simulated" in said(text)[1][1]


def test_a_script_without_an_end_and_without_a_pause_is_given_up() -> None:
    """It fills its log and then nothing more: the node has others to play."""
    assert 1000 == len(a_script("while true; do :; echo x; done", 1000))
    assert "is simulated" in a_script("while true; do :; done", 2)[0][1]
