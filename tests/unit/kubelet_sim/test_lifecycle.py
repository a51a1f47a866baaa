"""The life of a pod on its node, looked at by tables on a fake clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubelet_sim.state import Verdict
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time
from tests.unit.kubelet_sim.played_pod import INIT_SECONDS, START, PlayedPod, a_container, a_pod, state_of

SHELL = ["sh", "-c"]


@pytest.mark.parametrize(
    ("seconds", "phase", "state", "ready"),
    [(0, "Pending", "ContainerCreating", "False"), (0.2, "Running", "running", "True")],
)
def test_a_pod_is_created_and_then_runs(seconds: float, phase: str, state: str, ready: str) -> None:
    """A container waits for its image and then runs, started and ready."""
    played = PlayedPod(a_pod())

    status = played.until(seconds)

    assert (phase, state, ready) == (status["phase"], state_of(status), played.condition("Ready")[0])


def test_a_running_pod_says_everything_a_kubelet_says() -> None:
    """Conditions in a kubelet's order with the generation they are about, addresses, times and ids."""
    played = PlayedPod(a_pod())

    status = played.until(1)

    types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
    assert [(type_, "True", 1) for type_ in types] == [
        (one["type"], one["status"], one["observedGeneration"]) for one in status["conditions"]
    ]
    container = status["containerStatuses"][0]
    assert (True, True, 0, "web:1") == (
        container["started"],
        container["ready"],
        container["restartCount"],
        container["imageID"],
    )
    assert ("172.18.0.2", "2026-01-01T00:00:00Z") == (status["hostIP"], status["startTime"])


def test_events_are_worded_as_a_kubelet_words_them() -> None:
    """Pulling, Pulled, Created and Started are told once each, in this order."""
    played = PlayedPod(a_pod())

    played.until(10)

    assert [
        'Pulling: Pulling image "web:1"',
        'Pulled: Successfully pulled image "web:1" in 100ms (100ms including waiting). Image size: 34999094 bytes.',
        "Created: Container created",
        "Started: Container started",
    ] == played.told


@pytest.mark.parametrize(
    ("seconds", "state", "restarts"),
    [
        (0.15, "running", 0),
        (0.5, "Error", 0),
        (1.25, "running", 1),  # the first restart comes at once
        (1.5, "Error", 1),
        (5, "CrashLoopBackOff", 1),
        (11.4, "Error", 2),  # ten seconds after the end
        (20, "CrashLoopBackOff", 2),
        (31.6, "Error", 3),  # twenty
    ],
)
def test_a_crashing_container_backs_off(seconds: float, state: str, restarts: int) -> None:
    """Restarts come at once, then after 10 s, doubled each time; the pod stays Running."""
    played = PlayedPod(a_pod(a_container(command=[*SHELL, "exit 1"])))

    status = played.until(seconds)

    assert ("Running", state, restarts) == (
        status["phase"],
        state_of(status),
        status["containerStatuses"][0]["restartCount"],
    )


def test_a_back_off_remembers_how_it_ended() -> None:
    """CrashLoopBackOff names the delay and the pod, and lastState holds the end."""
    played = PlayedPod(a_pod(a_container(command=[*SHELL, "exit 3"])))

    container = played.until(5)["containerStatuses"][0]

    message = "back-off 10s restarting failed container=c pod=p_default(uid-1)"
    assert {"reason": "CrashLoopBackOff", "message": message} == container["state"]["waiting"]
    assert (3, "Error") == (
        container["lastState"]["terminated"]["exitCode"],
        container["lastState"]["terminated"]["reason"],
    )


def test_ten_quiet_minutes_forgive_a_crash() -> None:
    """A container that ran long enough is restarted at once, however often it had crashed."""
    played = PlayedPod(a_pod(annotations={"kubeloop.io/exit-after": "700s", "kubeloop.io/exit-code": "1"}))

    status = played.until(2 * 702)

    assert ("running", 2) == (state_of(status), status["containerStatuses"][0]["restartCount"])


@pytest.mark.parametrize(
    ("policy", "script", "phase", "state"),
    [
        ("Never", "true", "Succeeded", "Completed"),
        ("Never", "exit 2", "Failed", "Error"),
        ("OnFailure", "true", "Succeeded", "Completed"),
        ("OnFailure", "exit 2", "Running", "CrashLoopBackOff"),
        ("Always", "true", "Running", "CrashLoopBackOff"),
        ("Never", "sleep 100", "Running", "running"),
    ],
)
def test_the_restart_policy_decides_the_phase(policy: str, script: str, phase: str, state: str) -> None:
    """What ends for good ends the pod; what will run again does not."""
    played = PlayedPod(a_pod(a_container(command=[*SHELL, script]), restartPolicy=policy))

    status = played.until(8)

    assert (phase, state) == (status["phase"], state_of(status))


@pytest.mark.parametrize(
    ("image", "seconds", "state"),
    [
        ("does-not-exist:1", 0.5, "ErrImagePull"),
        ("invalid/app", 2, "ImagePullBackOff"),
        ("invalid/app", 10.5, "ErrImagePull"),
        ("invalid/app", 20, "ImagePullBackOff"),
        ("web:2", 0.5, "running"),
    ],
)
def test_an_image_that_is_not_there_backs_off(image: str, seconds: float, state: str) -> None:
    """Names that say so cannot be pulled; pulls are tried again after 10 s, 20 s and so on."""
    played = PlayedPod(a_pod(a_container(image=image)))

    status = played.until(seconds)

    assert state == state_of(status)


def test_a_mended_image_is_pulled_at_once() -> None:
    """Changing the image of a waiting container ends its back-off."""
    played = PlayedPod(a_pod(a_container(image="invalid")))
    played.until(60)

    played.obj["spec"]["containers"][0]["image"] = "web:2"
    status = played.until(60.2)

    assert ("Running", "web:2") == (status["phase"], status["containerStatuses"][0]["image"])


def test_a_changed_image_restarts_the_container() -> None:
    """A running container is replaced by one of the new image."""
    played = PlayedPod(a_pod())
    played.until(5)

    played.obj["spec"]["containers"][0]["image"] = "web:2"
    container = played.until(10)["containerStatuses"][0]

    assert ("web:2", 1) == (container["image"], container["restartCount"])
    assert "Killing: Container c definition changed, will be restarted" in played.told


@pytest.mark.parametrize(
    ("seconds", "first", "second", "main", "initialized"),
    [
        (1, "running", "PodInitializing", "PodInitializing", "containers with incomplete status: [one two]"),
        (4, "Completed", "running", "PodInitializing", "containers with incomplete status: [two]"),
        (6.2, "Completed", "Completed", "PodInitializing", ""),
        (6.5, "Completed", "Completed", "running", ""),
    ],
)
def test_init_containers_go_one_by_one(seconds: float, first: str, second: str, main: str, initialized: str) -> None:
    """Each waits for the one before; the main container for all of them; Initialized names what is missing."""
    played = PlayedPod(a_pod(initContainers=[a_container("one", image="one"), a_container("two", image="two")]))

    status = played.until(seconds)

    assert [first, second, main] == [state_of(status, name) for name in ("one", "two", "c")]
    assert initialized == played.condition("Initialized")[2]


@pytest.mark.parametrize(
    ("kind", "command", "phase"),
    [
        ("Job", ["webhook-certgen", "create"], "Succeeded"),
        ("Job", ["sleep", "infinity"], "Running"),
        ("Job", ["sh", "-c", "exit 1"], "Failed"),
        ("ReplicaSet", ["webhook-certgen", "create"], "Running"),
        ("", ["webhook-certgen", "create"], "Running"),
    ],
)
def test_what_a_job_runs_ends_unless_it_is_known_not_to(kind: str, command: list[str], phase: str) -> None:
    """Hooks of charts are Jobs of programs that nobody here knows, and are waited for."""
    obj = a_pod(a_container(command=command), restartPolicy="Never")
    if kind:
        obj["metadata"]["ownerReferences"] = [{"kind": kind, "name": "owner", "uid": "1", "controller": True}]

    assert phase == PlayedPod(obj).until(INIT_SECONDS + 1)["phase"]


def test_a_failed_init_container_fails_a_pod_that_never_restarts() -> None:
    """The main container is never started."""
    init = a_container("one", command=["false"])
    played = PlayedPod(a_pod(initContainers=[init], restartPolicy="Never"))

    status = played.until(10)

    assert ("Failed", "Error", "PodInitializing") == (status["phase"], state_of(status, "one"), state_of(status))


def test_a_sidecar_starts_first_and_stops_last() -> None:
    """It runs before the main container, and ends when that has ended for good."""
    sidecar = a_container("side", restartPolicy="Always")
    main = a_container(command=["sleep", "5"])
    played = PlayedPod(a_pod(main, initContainers=[sidecar], restartPolicy="Never"))

    during = played.until(3)
    assert ("running", "running", "Running") == (state_of(during, "side"), state_of(during), during["phase"])
    after = played.until(30)

    assert ("Completed", "Completed", "Succeeded") == (state_of(after, "side"), state_of(after), after["phase"])
    assert 0 == after["initContainerStatuses"][0]["restartCount"]


def test_a_sidecar_stays_while_those_it_serves_have_not_begun() -> None:
    """That init containers before it have ended is no reason to stop while the main container is being pulled."""
    init = [a_container("first", command=["true"]), a_container("side", restartPolicy="Always")]
    played = PlayedPod(a_pod(a_container(), initContainers=init, annotations={"kubeloop.io/stop-after.side": "0s"}))

    status = played.until(30)

    assert ("running", "running") == (state_of(status, "side"), state_of(status))
    assert 0 == status["initContainerStatuses"][1]["restartCount"]


def test_a_sidecar_stays_while_one_of_those_it_serves_is_to_restart() -> None:
    """One container has ended for good, the other waits for its next start."""
    sidecar = a_container("side", restartPolicy="Always")
    done, crashing = a_container("done", command=["true"]), a_container("crashing", command=["sh", "-c", "exit 1"])
    played = PlayedPod(a_pod(done, crashing, initContainers=[sidecar], restartPolicy="OnFailure"))

    status = played.until(30)

    assert ("Completed", "CrashLoopBackOff") == (state_of(status, "done"), state_of(status, "crashing"))
    assert ("running", 0) == (state_of(status, "side"), status["initContainerStatuses"][0]["restartCount"])


PROBE = {"initialDelaySeconds": 5, "periodSeconds": 10, "httpGet": {"port": 80}}


@pytest.mark.parametrize(
    ("container", "annotations", "ready_after"),
    [
        ({"readinessProbe": PROBE}, {}, 5),
        ({"readinessProbe": {**PROBE, "successThreshold": 3}}, {}, 25),
        ({"readinessProbe": PROBE, "startupProbe": PROBE}, {}, 5),
        ({"readinessProbe": PROBE, "startupProbe": {**PROBE, "initialDelaySeconds": 7}}, {}, 7),
        ({}, {"kubeloop.io/ready-after": "8s"}, 8),
        ({}, {"kubeloop.io/ready-after": "20s", "kubeloop.io/ready-after.c": "8s"}, 8),
    ],
)
def test_readiness_follows_probes_and_annotations(
    container: Object, annotations: dict[str, str], ready_after: float
) -> None:
    """Ready flips at the first success and not before."""
    played = PlayedPod(a_pod(a_container(**container), annotations=annotations))

    played.until(ready_after)
    before = played.condition("Ready")
    played.until(ready_after + 0.2)

    assert ("False", "ContainersNotReady", "containers with unready status: [c]") == before
    assert ("True", "", "") == played.condition("Ready")


def test_a_readiness_gate_holds_the_pod_back() -> None:
    """Ready waits for the condition that others set; ContainersReady does not."""
    played = PlayedPod(a_pod(readinessGates=[{"conditionType": "example.com/go"}]))

    played.until(1)
    assert "ReadinessGatesNotReady" == played.condition("Ready")[1]
    played.obj["status"]["conditions"].append({"type": "example.com/go", "status": "True"})
    played.look()

    assert ("True", "True") == (played.condition("Ready")[0], played.condition("ContainersReady")[0])


@pytest.mark.parametrize(
    ("fields", "grace_seconds", "stopped_after", "exit_code", "phase"),
    [
        ({}, 30, 0.3, 0, "Succeeded"),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, 30, 5.3, 0, "Succeeded"),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 50}}}}, 10, 10.3, 0, "Succeeded"),
        ({"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 15"]}}}}, 30, 15.301, 0, "Succeeded"),
    ],
)
def test_a_deleted_pod_is_stopped_within_its_grace(
    fields: Object, grace_seconds: int, stopped_after: float, exit_code: int, phase: str
) -> None:
    """Containers take as long as their hooks say, the grace at most; then the pod may be removed."""
    played = PlayedPod(a_pod(a_container(**fields)))
    played.until(10)

    played.delete(grace_seconds)
    during = played.until(10 + stopped_after - 0.01)
    assert ("Running", 2, False) == (during["phase"], during["observedGeneration"], played.is_removable)
    after = played.until(10 + stopped_after)

    assert (phase, exit_code, True) == (
        after["phase"],
        after["containerStatuses"][0]["state"]["terminated"]["exitCode"],
        played.is_removable,
    )
    assert "Killing: Stopping container c" in played.told


def test_a_pod_deleted_before_it_ran_has_failed() -> None:
    """Nobody knows how a container ended that was never seen to run."""
    played = PlayedPod(a_pod(a_container(image="invalid")))
    played.until(5)

    played.delete()
    status = played.until(5.1)

    assert ("Failed", "ContainerStatusUnknown", True) == (status["phase"], state_of(status), played.is_removable)


def test_a_pod_beyond_its_deadline_is_failed() -> None:
    """activeDeadlineSeconds counts from the start time; the containers are stopped."""
    played = PlayedPod(a_pod(activeDeadlineSeconds=20))

    status = played.until(21)

    assert ("Failed", "DeadlineExceeded", "Completed") == (status["phase"], status["reason"], state_of(status))


def test_a_pod_is_failed_when_nothing_of_it_runs_any_more() -> None:
    """Until then it is Running without a reason, and no longer ready: whoever replaces it waits for its resources."""
    played = PlayedPod(a_pod(activeDeadlineSeconds=20, annotations={"kubeloop.io/stop-after": "10s"}))

    stopping = played.until(25)
    ready = played.condition("Ready")
    stopped = played.until(31)

    assert ("Running", None, "running") == (stopping["phase"], stopping.get("reason"), state_of(stopping))
    assert ("False", "PodFailed", "") == ready
    assert ("Failed", "DeadlineExceeded", "Completed") == (stopped["phase"], stopped["reason"], state_of(stopped))


def test_a_late_look_at_a_pod_beyond_its_deadline_finds_what_happened_before() -> None:
    """Its container ran, as it would have been seen to on a node that is less busy."""
    played = PlayedPod(a_pod(activeDeadlineSeconds=2))
    played.look()

    played.now += timedelta(seconds=5)
    played.look()
    status = played.until(6)

    assert ("Failed", "Completed") == (status["phase"], state_of(status))
    assert "Started: Container started" in played.told


def test_an_evicted_pod_is_ready_until_it_has_stopped() -> None:
    """Its reason and the condition DisruptionTarget come with its phase."""
    stubborn = {"kubeloop.io/stop-after": "never"}
    played = PlayedPod(a_pod(annotations=stubborn, terminationGracePeriodSeconds=10))
    played.until(5)

    evicted = Verdict("Evicted", "The node was low on resource: memory. ", disruption="It was low. ")
    played.runtime = played.runtime._replace(verdict=evicted)
    phase = played.until(10)["phase"]
    before = [played.condition(type_)[0] for type_ in ("Ready", "DisruptionTarget")]
    status = played.until(16)

    assert ("Running", ["True", ""]) == (phase, before)
    assert ("Failed", "Evicted", "Error") == (status["phase"], status["reason"], state_of(status))
    after = [played.condition(type_)[0] for type_ in ("Ready", "DisruptionTarget")]
    assert ["False", "True"] == after
    assert "DisruptionTarget" == status["conditions"][0]["type"]  # before those that every pod has


EVICTED = Verdict("Evicted", "It was low. ", 1.0, disruption="It was low. ")
PREEMPTED = Verdict("Preempting", "Preempted. ", disruption="It was preempted. ")


@pytest.mark.parametrize(
    ("verdict", "container", "said", "expected"),
    [
        (EVICTED, {}, {}, ("Failed", "Evicted", "Error", 137)),  # it is not done within the grace of an eviction
        (EVICTED, {}, {"kubeloop.io/stop-after": "1s"}, ("Succeeded", "", "Completed", 0)),
        (PREEMPTED, {}, {}, ("Succeeded", "", "Completed", 0)),  # it has its own grace
        (PREEMPTED, {"command": ["sleep", "1h"]}, {}, ("Failed", "Preempting", "Error", 137)),
    ],
)
def test_a_pod_that_a_kubelet_ends_succeeds_when_its_containers_do(
    verdict: Verdict, container: Object, said: dict[str, str], expected: tuple[str, str, str, int]
) -> None:
    """Then it has no reason, and only the condition tells. Else it has failed, and says why."""
    played = PlayedPod(a_pod(a_container(**container), annotations=said))
    played.until(5)

    played.runtime = played.runtime._replace(verdict=verdict)
    status = played.until(10)

    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert expected == (status["phase"], status.get("reason", ""), ended["reason"], ended["exitCode"])
    assert "True" == played.condition("DisruptionTarget")[0]
    assert status == played.until(20)


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        (["sleep", "1h"], 137),
        (["sh", "-c", "while true; do date; sleep 5; done"], 137),
        (["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 5; done"], 0),
        (["nginx"], 0),
    ],
)
def test_a_command_that_does_not_listen_to_signals_is_killed(command: list[str], exit_code: int) -> None:
    """As the first process of a container a shell or a sleep takes no notice of SIGTERM; of others nothing is known."""
    played = PlayedPod(a_pod(a_container(command=command)))
    played.until(5)

    played.delete()
    status = played.until(10)

    assert exit_code == status["containerStatuses"][0]["state"]["terminated"]["exitCode"]
    assert ("Failed" if exit_code else "Succeeded") == status["phase"]


def test_a_phase_written_by_others_ends_the_pod() -> None:
    """Terminal phases are final: the node stops what still runs and leaves the phase alone."""
    played = PlayedPod(a_pod())
    played.until(5)

    played.obj["status"]["phase"] = "Failed"
    status = played.until(6)

    assert ("Failed", "Completed") == (status["phase"], state_of(status))


@pytest.mark.parametrize("seconds", [0, 3, 6, 20])
def test_a_restarted_process_goes_on_from_the_status(seconds: float) -> None:
    """Whenever memory is lost, the status alone brings the pod to the same end."""
    containers: list[Any] = [a_container(command=["sleep", "9"]), a_container("d", command=["sleep", "5"])]
    uninterrupted = PlayedPod(a_pod(*containers, restartPolicy="Never", initContainers=[a_container("i")]))
    interrupted = PlayedPod(a_pod(*containers, restartPolicy="Never", initContainers=[a_container("i")]))

    expected = uninterrupted.until(60)
    interrupted.until(seconds)
    interrupted.restart_process()
    actual = interrupted.until(60)

    assert "Succeeded" == expected["phase"] == actual["phase"]
    assert [one["restartCount"] for one in expected["containerStatuses"]] == [
        one["restartCount"] for one in actual["containerStatuses"]
    ]


def test_a_restart_of_the_process_starts_nothing_anew() -> None:
    """A running container keeps its id and its start, and nothing is told again."""
    played = PlayedPod(a_pod())
    before = played.until(10)["containerStatuses"]

    played.restart_process()
    played.told.clear()
    after = played.until(20)["containerStatuses"]

    assert before == after
    assert [] == played.told


@pytest.mark.parametrize("field", ["activeDeadlineSeconds", "terminationGracePeriodSeconds"])
def test_limits_beyond_all_time_are_none(field: str) -> None:
    """A pod with the largest int64 as a limit runs like one without, and can be stopped."""
    played = PlayedPod(a_pod(**{field: 2**63 - 1}))

    status = played.until(1)
    stopping = PlayedPod(a_pod(activeDeadlineSeconds=1, terminationGracePeriodSeconds=2**63 - 1))

    assert ("Running", "Failed") == (status["phase"], stopping.until(60)["phase"])


@pytest.mark.parametrize(
    ("stop_after", "grace_seconds", "stopped_after", "exit_code"),
    [("60s", 10, 10, 137), ("60s", 1, 2, 137), ("1s", 0, 1, 0)],
)
def test_a_container_has_two_seconds_to_stop_at_least(
    stop_after: str, grace_seconds: int, stopped_after: float, exit_code: int
) -> None:
    """However short the grace is: most would otherwise be killed for nothing."""
    played = PlayedPod(a_pod(annotations={"kubeloop.io/stop-after": stop_after}))
    played.until(10)

    played.delete(grace_seconds)
    during = played.until(10 + stopped_after - 0.1)
    after = played.until(10 + stopped_after)

    assert "running" == state_of(during)
    assert exit_code == after["containerStatuses"][0]["state"]["terminated"]["exitCode"]


def test_a_sidecar_has_what_is_left_of_the_grace() -> None:
    """Those that it serves have used it up: it is given its last two seconds."""
    stubborn = {"kubeloop.io/stop-after": "60s"}
    played = PlayedPod(a_pod(initContainers=[a_container("sidecar", restartPolicy="Always")], annotations=stubborn))
    played.until(10)

    played.delete(grace_seconds=20)
    while_serving = played.until(31.9)
    after = played.until(32)

    assert ("Error", "running") == (state_of(while_serving), state_of(while_serving, "sidecar"))
    assert "Error" == state_of(after, "sidecar")


@pytest.mark.parametrize("hook", [{"sleep": {"seconds": 20}}, {"exec": {"command": ["sh", "-c", "sleep 20"]}}])
def test_a_hook_holds_back_its_container_and_those_after_it(hook: Object) -> None:
    """It is being created until its postStart hook has ended; then it runs since its process does."""
    played = PlayedPod(a_pod(a_container("first", lifecycle={"postStart": hook}), a_container("second")))

    waiting = played.until(10)
    assert ["ContainerCreating", "ContainerCreating"] == [state_of(waiting, name) for name in ("first", "second")]
    running = played.until(30)
    assert ["running", "running"] == [state_of(running, name) for name in ("first", "second")]
    started = [one["state"]["running"]["startedAt"] for one in running["containerStatuses"]]
    assert [format_time(START), format_time(START + timedelta(seconds=20))] == started


def test_a_pod_that_is_deleted_does_not_wait_for_a_hook() -> None:
    played = PlayedPod(a_pod(a_container(lifecycle={"postStart": {"sleep": {"seconds": 3600}}})))
    played.until(10)

    played.delete()
    played.until(50)

    assert played.is_removable
