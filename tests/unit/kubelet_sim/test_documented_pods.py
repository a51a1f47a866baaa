"""docs/simulated-nodes.md: each pod it shows is understood, and lives as the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubelet_sim.pod_spec import annotation_errors
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PlayedPod, state_of

PAGE = Path(__file__).resolve().parents[3] / "docs/simulated-nodes.md"
DOCUMENTS = [
    document
    for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for document in yaml.safe_load_all(text)
]
PODS = {document["metadata"]["name"]: document for document in DOCUMENTS if document["kind"] == "Pod"}

# The pod, a second of its life, and what is true then.
PROMISES: dict[str, list[tuple[float, Callable[[Object], object], object]]] = {
    "crashes": [
        (1, lambda status: state_of(status, "app"), "running"),
        (8, lambda status: state_of(status, "app"), "CrashLoopBackOff"),
    ],
    "stumbles": [
        (29, lambda status: status["containerStatuses"][0]["ready"], True),
        (45, lambda status: status["containerStatuses"][0]["ready"], False),
        (66, lambda status: status["containerStatuses"][0]["ready"], True),
    ],
    "leaks": [
        (9, lambda status: restarts(status), [0]),
        (12, lambda status: status["containerStatuses"][0]["lastState"]["terminated"]["reason"], "OOMKilled"),
    ],
    "deadlocks": [
        (29, lambda status: restarts(status), [0, 0]),
        (40, lambda status: restarts(status), [1, 0]),
    ],
}


def restarts(status: Object) -> list[int]:
    return [one["restartCount"] for one in status["containerStatuses"]]


def played(name: str) -> PlayedPod:
    pod = PODS[name]
    pod["metadata"] |= {"namespace": "default", "uid": "uid-1", "generation": 1}
    return PlayedPod({**pod, "status": {"phase": "Pending"}})


@pytest.mark.parametrize("name", PODS)
def test_each_pod_is_understood(name: str) -> None:
    """No annotation of it is complained about, and something is promised of it."""
    assert [] == annotation_errors(PODS[name])
    assert PROMISES[name]


@pytest.mark.parametrize("name", PROMISES)
def test_each_pod_lives_as_the_page_says(name: str) -> None:
    """At the seconds that matter."""
    pod = played(name)

    for seconds, look, wanted in PROMISES[name]:
        assert wanted == look(pod.until(seconds)), f"after {seconds} s"
