"""A machine that was off: its pods begin anew in new sandboxes, as their policies say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubelet_sim import outage, pod_spec
from tests.unit.kubelet_sim.played_pod import INIT_SECONDS, START, PlayedPod, a_container, a_pod, state_of

REBOOT_SECONDS = 30
CRASHES = {"kubeloop.io/exit-after.c": "1s", "kubeloop.io/exit-code.c": "1"}


def rebooted(obj: Any) -> PlayedPod:
    """The pod right after its machine was up again."""
    played = PlayedPod(obj)
    played.until(REBOOT_SECONDS)
    reboot(played)
    return played


def reboot(played: PlayedPod) -> None:
    played.told.clear()
    spec = pod_spec.read(played.obj, INIT_SECONDS)
    played.runtime, told = outage.after_reboot(spec, played.runtime, START + timedelta(seconds=REBOOT_SECONDS))
    played.told += [one.reason for one in told]
    played.look()


def test_init_containers_run_again() -> None:
    """A new sandbox is initialized as the first one was; the others show meanwhile how they ended."""
    played = rebooted(a_pod(a_container(), initContainers=[a_container("init")]))

    first, later = played.obj["status"], played.until(REBOOT_SECONDS + INIT_SECONDS + 2)
    assert ("running", "Unknown") == (state_of(first, "init"), state_of(first))
    assert ("Completed", "running") == (state_of(later, "init"), state_of(later))
    assert [1, 1] == [one["restartCount"] for field in FIELDS for one in later[field]]
    assert "SandboxChanged" == played.told[0]


FIELDS = ("initContainerStatuses", "containerStatuses")


def test_a_crash_loop_is_forgotten() -> None:
    """The container is started at once, and its next crash is the first."""
    played = rebooted(a_pod(annotations=CRASHES))

    assert "running" == state_of(played.obj["status"])
    waiting = played.until(REBOOT_SECONDS + 3)["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"].startswith("back-off 10s ")


def test_an_image_that_was_not_to_be_had_is_asked_for_at_once() -> None:
    """Nobody remembers that it failed."""
    played = rebooted(a_pod({"name": "c", "image": "invalid"}))

    played.until(REBOOT_SECONDS + 0.2)
    assert "ErrImagePull" == state_of(played.obj["status"])
    assert not any("SandboxChanged" in one for one in played.told)


@pytest.mark.parametrize(
    ("policy", "containers", "states", "phase"),
    [
        ("Never", [a_container()], ["Unknown"], "Failed"),
        ("OnFailure", [a_container()], ["running"], "Running"),
        ("OnFailure", [a_container(command=["true"])], ["Completed"], "Succeeded"),
        ("OnFailure", [a_container(command=["true"]), a_container("d")], ["Completed", "running"], "Running"),
        ("Always", [a_container(restartPolicy="Never")], ["running"], "Running"),  # as a kubelet does it
    ],
)
def test_policies_say_what_runs_again(policy: str, containers: list[Any], states: list[str], phase: str) -> None:
    """What is done stays so, and a pod that is never restarted has failed."""
    status = rebooted(a_pod(*containers, restartPolicy=policy)).obj["status"]

    assert states == [state_of(status, one["name"]) for one in containers]
    assert phase == status["phase"]


def test_the_same_reboot_counts_once() -> None:
    """What was started since goes on."""
    played = rebooted(a_pod())
    played.until(REBOOT_SECONDS + 5)

    reboot(played)

    assert ([], 1) == (played.told, played.obj["status"]["containerStatuses"][0]["restartCount"])
