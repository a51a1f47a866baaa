"""Expressions of stages: jq of our own for what is common, the library's for the rest, and CEL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubelet_sim.stages import expression, jq_process
from kubelet_sim.stages.expression import StageError, cel, jq
from kubelet_sim.stages.jq_process import JqProcess

POD: dict[str, Any] = {
    "metadata": {"labels": {"a.b/c": "1"}, "ownerReferences": [{"kind": "Job"}, {"kind": "Other"}]},
    "spec": {"containers": [{"name": "a", "ports": [{"name": "web"}]}, {"name": "b"}], "priority": 0},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
        "containerStatuses": [{"ready": True}, {"ready": False}],
    },
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (".", [POD]),
        ('.metadata.labels["a.b/c"]', ["1"]),
        ('.metadata.labels."a.b/c"', ["1"]),
        (".status.containerStatuses[].ready", [True, False]),
        (".status.containerStatuses.[].ready", [True, False]),
        (".metadata.ownerReferences.[].kind", ["Job", "Other"]),
        (".spec.containers[1].name", ["b"]),
        (".spec.containers[-1].name", ["b"]),
        (".spec.containers[7].name", []),
        (".status.phase.more", []),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        ('.status.conditions[] | select(.type != "Ready") | .status', ["False"]),
        (".status.containerStatuses[] | select(.ready == true) | .ready", [True]),
        (".spec.priority", [0]),
        # What jq would fail at finds nothing, also what it had found before.
        (".metadata.labels.x[]", []),
        (".spec.containers[].ports[].name", []),
        (".spec.priority.x", []),
        (".spec.containers.name", []),
    ],
)
def test_common_expressions_mean_what_jq_means(text: str, wanted: list[Any]) -> None:
    """Whether evaluated here or by the library."""
    own, library = expression._path(text), expression._program(text)

    assert own is not None
    assert wanted == list(own.find(POD)) == list(library.find(POD))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (".status.conditions | map(.type) | join(`,`)".replace("`", '"'), ["Ready,Initialized"]),
        ("[.spec.containers[].name] | length", [2]),
        (".status.phase // .metadata.labels[]", ["1"]),
        (".spec.containers[].ports[]?.name", ["web"]),
        ('.metadata.labels | has("a.b/c")', [True]),
        ("null", []),
        ('error("x")', []),
        ("$ENV.PATH, env.PATH", []),
        ("input", []),
    ],
)
def test_the_rest_of_jq_is_understood_too(text: str, wanted: list[Any]) -> None:
    """The environment of the process stays its own."""
    assert wanted == list(jq(text).find(POD))


def test_an_expression_without_end_is_cut() -> None:
    """Where it gives values for ever."""
    assert jq_process.MOST_RESULTS == len(jq("repeat(1)").find({}))


@pytest.mark.parametrize("text", ["", ".a[", ".a-b", "select(", 'include "x"; .'])
def test_what_is_no_jq_is_refused(text: str) -> None:
    """When it is read."""
    with pytest.raises(StageError, match="is no jq expression"):
        jq(text)


@pytest.mark.parametrize(
    ("text", "are_marks"),
    [
        ('.metadata.labels["x"]', True),
        (".metadata.annotations.x", True),
        (".metadata.labels", True),
        (".metadata.name", False),
        (".status.phase", False),
        ('.metadata.labels["x"] // .status.phase', False),
    ],
)
def test_paths_to_labels_and_annotations_are_known(text: str, are_marks: bool) -> None:
    """They say which objects a stage is for."""
    assert are_marks == jq(text).is_about_marks


def test_cel_looks_at_self() -> None:
    """What fails is nothing."""
    assert cel("self.spec.containers.size() == 2 && !has(self.metadata.deletionTimestamp)").value(POD) is True
    assert cel("self.missing.field == 'x'").value(POD) is None
    assert timedelta(seconds=5) == cel("duration('5s')").value(POD)
    with pytest.raises(StageError, match="is no CEL expression"):
        cel("self.")


@pytest.mark.parametrize("text", ["last(repeat(.))", "def f: [f]; f", "[range(1e10)]"])
def test_an_expression_that_never_ends_finds_nothing_and_keeps_no_other_from_being_evaluated(text: str) -> None:
    """Nor is it evaluated again: each time would cost all nodes seconds."""
    endless, other = jq(text), jq("[.spec.containers[].name] | length")

    assert list(endless.find(POD)) == []
    assert list(other.find(POD)) == [2]
    assert isinstance(endless, expression._Program) and endless.is_endless


def test_the_process_that_evaluates_is_started_anew_when_it_has_died() -> None:
    """Whoever killed it: at worst one expression finds nothing."""
    process = JqProcess()
    assert process.find(".a", '{"a":1}') == [1]

    running = process._process
    assert running is not None
    running.kill()
    running.wait()

    assert process.find(".a", '{"a":1}') == [1]
    process.close()
