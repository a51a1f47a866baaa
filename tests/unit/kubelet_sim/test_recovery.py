"""After a restart of the kubelet nothing is written of a pod that is over: its status says all that is known."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kubelet_sim import lifecycle
from kubelet_sim.state import Verdict
from kubelet_sim.status_patch import status_patch
from tests.unit.kubelet_sim.played_pod import PULL_SECONDS, PlayedPod, a_container, a_pod

SLOW_PULL, ADDRESS = PULL_SECONDS / 2, "10.244.0.7"
INIT = a_container("init", command=["sh", "-c", "sleep 30"])


def played(**spec: Any) -> PlayedPod:
    pod = PlayedPod(a_pod(**spec))
    pod.runtime = pod.runtime._replace(ip=ADDRESS)
    return pod


def rejected() -> PlayedPod:
    pod = played()
    pod.runtime, _ = lifecycle.reject(pod.runtime, Verdict("OutOfcpu", "Node didn't have enough resource: cpu"))
    pod.until(1)
    return pod


def too_late_while_pulling() -> PlayedPod:
    pod = played(activeDeadlineSeconds=SLOW_PULL)
    pod.until(5)
    return pod


def too_late_while_initializing() -> PlayedPod:
    pod = played(activeDeadlineSeconds=2, initContainers=[INIT])
    pod.until(60)
    return pod


def too_late_while_running() -> PlayedPod:
    pod = played(activeDeadlineSeconds=2)
    pod.until(60)
    return pod


def deleted_while_pulling() -> PlayedPod:
    pod = played()
    pod.until(SLOW_PULL)
    pod.delete()
    pod.until(60)
    return pod


def ended_well() -> PlayedPod:
    pod = PlayedPod(a_pod(a_container(command=["sh", "-c", "exit 0"]), restartPolicy="Never"))
    pod.runtime = pod.runtime._replace(ip=ADDRESS)
    pod.until(10)
    return pod


ENDS = (
    rejected,
    too_late_while_pulling,
    too_late_while_initializing,
    too_late_while_running,
    deleted_while_pulling,
    ended_well,
)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_the_status_of_a_pod_that_is_over_stays(end: Callable[[], PlayedPod]) -> None:
    """However it ended, it is not told in other words by a kubelet that only read of it."""
    pod = end()
    before = copy.deepcopy(pod.obj)
    assert before["status"]["phase"] in ("Failed", "Succeeded")

    pod.restart_process()
    pod.look()

    assert status_patch(before, pod.obj["status"]) is None


def test_back_off_is_not_remembered() -> None:
    """A kubelet keeps it in mind only: what waited is started at once, and its next crash is the first."""
    played = PlayedPod(a_pod(a_container(command=["sh", "-c", "sleep 1; exit 1"])))
    waiting = played.until(100)["containerStatuses"][0]
    assert waiting["state"]["waiting"]["message"].startswith("back-off 1m20s ")

    played.restart_process()
    running = played.until(101)["containerStatuses"][0]

    assert (["running"], waiting["restartCount"] + 1) == (list(running["state"]), running["restartCount"])
    assert played.until(104)["containerStatuses"][0]["state"]["waiting"]["message"].startswith("back-off 10s ")
