"""postStart hooks that fail: what is told, how the container ends and is tried again."""

from __future__ import annotations

import pytest

from kubelet_sim import pod_spec
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PULL_SECONDS, PlayedPod, a_container, a_pod, state_of

FAILS = {"exec": {"command": ["sh", "-c", "sleep 4; exit 3"]}}
ABOUT = 'for Container "c" in Pod "p_default(uid-1)" failed - error:'
EXITED = "command 'sh -c sleep 4; exit 3' exited with 3: "
IN_WORDS = f'Exec lifecycle hook ([sh -c sleep 4; exit 3]) {ABOUT} {EXITED}, message: ""'
ENDS = PULL_SECONDS + 4 + 0.3  # it takes the container the last of it to stop


def a_pod_with(hook: Object, said: str = "", **spec: object) -> PlayedPod:
    annotations = {"kubeloop.io/post-start": said} if said else {}
    return PlayedPod(a_pod(a_container(lifecycle={"postStart": hook}), annotations=annotations, **spec))


def reasons(played: PlayedPod) -> list[str]:
    return [one.partition(":")[0] for one in played.told]


def test_a_container_whose_hook_fails_is_killed() -> None:
    """What has been created and started is stopped with its grace; it was never seen to run."""
    played = a_pod_with(FAILS)

    assert "ContainerCreating" == state_of(played.until(ENDS - 0.1))
    assert ["FailedPostStartHook: PostStartHook failed", "Killing: FailedPostStartHook"] == played.told[-2:]
    status = played.until(ENDS + 0.01)
    assert ["Pulling", "Pulled", "Created", "Started", "FailedPostStartHook", "Killing"] == reasons(played)
    container = status["containerStatuses"][0]
    assert {"reason": "PostStartHookError", "message": IN_WORDS} == container["state"]["waiting"]
    assert ("Completed", False, "Running") == (
        container["lastState"]["terminated"]["reason"],
        container["ready"],
        status["phase"],
    )


def test_it_is_tried_again_and_backs_off() -> None:
    """At once for the first time, as after a crash; while it is tried it still says why it waits."""
    played = a_pod_with(FAILS)

    again = ENDS + 1 + 4 + 0.3
    assert "PostStartHookError" == state_of(played.until(again - 1))
    status = played.until(again + 5)
    assert "CrashLoopBackOff" == state_of(status)
    assert 1 == status["containerStatuses"][0]["restartCount"]
    assert (2, 1) == (reasons(played).count("FailedPostStartHook"), reasons(played).count("BackOff"))


def test_a_pod_that_never_restarts_is_over() -> None:
    """As its process ended, however its hook did; one that does not stop in time is killed."""
    stops, stays = a_pod_with(FAILS, restartPolicy="Never"), a_pod_with(FAILS, restartPolicy="Never")
    stays.obj["metadata"]["annotations"]["kubeloop.io/stop-after"] = "never"

    assert ("Succeeded", "Completed") == ((status := stops.until(ENDS + 0.01))["phase"], state_of(status))
    assert "Pending" == stays.until(30)["phase"]
    status = stays.until(PULL_SECONDS + 4 + 30 + 0.01)
    assert ("Failed", 137) == (status["phase"], status["containerStatuses"][0]["state"]["terminated"]["exitCode"])


def test_the_containers_that_come_after_wait_for_its_end() -> None:
    """And start then."""
    played = PlayedPod(a_pod(a_container("c", lifecycle={"postStart": FAILS}), a_container("next")))

    assert "ContainerCreating" == state_of(played.until(ENDS - 0.1), "next")
    assert "running" == state_of(played.until(ENDS + 0.01), "next")


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (
            {"sleep": {"seconds": 0}},
            f"Sleep lifecycle hook (0) {ABOUT} container terminated before sleep hook finished",
        ),
        (
            {"httpGet": {"path": "/warm", "port": 8080}},
            f'HTTP lifecycle hook (/warm) {ABOUT} Get "http://10.0.0.7:8080/warm": EOF',
        ),
        (
            {"exec": {"command": ["warm-up"]}},
            f"Exec lifecycle hook ([warm-up]) {ABOUT} command 'warm-up' exited with 1: , message: \"\"",
        ),
    ],
)
def test_any_hook_can_be_said_to_fail(hook: Object, message: str) -> None:
    """In the words of its kind."""
    played = a_pod_with(hook, "fail")
    played.runtime = played.runtime._replace(ip="10.0.0.7")

    assert message == played.until(1.2)["containerStatuses"][0]["state"]["waiting"]["message"]


def test_a_hook_can_be_said_to_go_well() -> None:
    """Whatever its command seems to do."""
    assert "running" == state_of(a_pod_with(FAILS, "pass").until(ENDS + 0.01))


def test_a_deleted_pod_ends_while_its_hook_is_paid_for() -> None:
    """Its own grace counts where it is shorter."""
    played = a_pod_with(FAILS)
    played.obj["metadata"]["annotations"]["kubeloop.io/stop-after"] = "never"
    played.until(6)

    played.delete(grace_seconds=5)
    played.until(12)

    assert played.is_removable


def test_what_is_said_of_no_hook_is_told() -> None:
    """As is what nobody understands."""
    without, other = a_pod(annotations={"kubeloop.io/post-start": "fail"}), a_pod_with(FAILS, "maybe").obj
    of_one = a_pod(annotations={"kubeloop.io/post-start.c": "fail"})

    assert ["annotation kubeloop.io/post-start: no container has a postStart hook"] == pod_spec.annotation_errors(
        without
    )
    why = "'maybe' is not how a hook goes: write pass or fail"
    assert [f"annotation kubeloop.io/post-start: {why}"] == pod_spec.annotation_errors(other)
    why = "the container has no postStart hook"
    assert [f"annotation kubeloop.io/post-start.c: {why}"] == pod_spec.annotation_errors(of_one)
    assert "running" == state_of(PlayedPod(without).until(1))
