"""Pods that start all over in their place, as a rule RestartAllContainers of a container says."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod, state_of

RESET = "RestartingAllContainers"
WHY = "The container is removed because RestartAllContainers in place"


def rule(action: str, *codes: int, operator: str = "In") -> Object:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


def watcher(script: str = "sleep 5; exit 42", **fields: Any) -> Object:
    """Ends after five seconds with a code that starts the pod anew."""
    rules = [rule("RestartAllContainers", 42)]
    return a_container(
        "watcher", command=["sh", "-c", script], restartPolicy="Never", restartPolicyRules=rules, **fields
    )


def counts(status: Object) -> dict[str, int]:
    fields = ("initContainerStatuses", "containerStatuses")
    return {one["name"]: one["restartCount"] for field in fields for one in status.get(field) or ()}


def a_played_pod(*containers: Object, **spec: Any) -> PlayedPod:
    return PlayedPod(a_pod(*(containers or (a_container(), watcher())), restartPolicy="Never", **spec))


@pytest.mark.parametrize(("stops_after", "state"), [("1s", "Completed"), ("1m", "Error")])
def test_all_containers_are_killed_when_one_ends_as_its_rule_says(stops_after: str, state: str) -> None:
    """With no grace but the last two seconds; the pod stays Running and says so by a condition."""
    played = a_played_pod(annotations={"kubeloop.io/stop-after": stops_after})

    status = played.until(7.11 if state == "Error" else 6.11)

    assert ("Running", state, "Error") == (status["phase"], state_of(status), state_of(status, "watcher"))
    expected = ("True", "RestartAllContainersStarted", "container exited with restart policy rule")
    assert expected == played.condition("AllContainersRestarting")
    assert "Killing: killing" in played.told


def test_they_start_anew_without_a_memory_of_how_they_ended() -> None:
    """Each has been restarted once, and its last state says why; there is no back-off."""
    played = a_played_pod()

    status = played.until(8)

    assert {"c": 1, "watcher": 1} == counts(status)
    assert ["running", "running"] == [state_of(status), state_of(status, "watcher")]
    last = {"exitCode": 137, "reason": RESET, "message": WHY, "startedAt": None, "finishedAt": None}
    assert [last, last] == [one["lastState"]["terminated"] for one in status["containerStatuses"]]
    assert ("False", "", "") == played.condition("AllContainersRestarting")


def test_the_pod_is_prepared_again() -> None:
    """Its init containers go first; the others wait for them, and the pod stays initialized."""
    init = a_container("init", command=["sleep", "2"])
    played = a_played_pod(watcher(), initContainers=[init])

    status = played.until(9)  # 0.1 to pull, 2, 0.1, 5, 1 to notice: the second preparation is under way

    assert ("running", RESET) == (state_of(status, "init"), state_of(status, "watcher"))
    waiting = status["containerStatuses"][0]["state"]["waiting"]
    assert {"reason": RESET, "message": WHY} == waiting
    assert "True" == played.condition("Initialized")[0]
    again = played.until(11)
    assert ({"init": 1, "watcher": 1}, "running") == (counts(again), state_of(again, "watcher"))


def test_every_round_is_counted() -> None:
    """And has an id of its own."""
    played, ids = a_played_pod(watcher()), set[str]()
    for seconds in (3, 9, 15, 21):
        ids.add(played.until(seconds)["containerStatuses"][0]["containerID"])

    assert (4, {"watcher": 3}) == (len(ids), counts(played.obj["status"]))


@pytest.mark.parametrize(
    ("rules", "is_anew"),
    [
        ([rule("Restart", 42), rule("RestartAllContainers", 42)], False),
        ([rule("RestartAllContainers", 1, operator="NotIn")], True),
        ([rule("RestartAllContainers", 1)], False),
    ],
)
def test_the_first_rule_that_matches_counts(rules: list[Object], is_anew: bool) -> None:
    """One that restarts the container alone leaves the others running."""
    played = a_played_pod(a_container(), {**watcher("exit 42"), "restartPolicyRules": rules})

    assert (1 if is_anew else 0) == counts(played.until(2))["c"]


def test_a_pod_that_is_being_deleted_does_not_start_anew() -> None:
    """It ends as every other."""
    played = a_played_pod(watcher())
    played.until(5.5)

    played.delete()
    status = played.until(30)

    assert ({"watcher": 0}, "Error", True) == (counts(status), state_of(status, "watcher"), played.is_removable)


def test_a_restarted_process_goes_on_where_the_pod_was() -> None:
    """Between the end of the containers and their new start, and while some wait for others."""
    between, waiting = (
        a_played_pod(),
        a_played_pod(watcher(), initContainers=[a_container("init", command=["sleep", "2"])]),
    )
    between.until(5.5)
    waiting.until(9)

    for played in (between, waiting):
        played.restart_process()

    assert {"c": 1, "watcher": 1} == counts(between.until(8))
    assert {"init": 1, "watcher": 1} == counts(waiting.until(12))
