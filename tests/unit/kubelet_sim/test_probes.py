"""Probes that fail: what annotations say of them, and what a node makes of it, on a fake clock."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.pod_spec import annotation_errors
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod, state_of

STARTED = 0.1  # when the container of a played pod starts: its image has been pulled


def a_probe(**fields: Any) -> Object:
    return {"httpGet": {"path": "/ok", "port": 80}, "periodSeconds": 10, "failureThreshold": 3, **fields}


def a_probed_pod(said: dict[str, str] | None = None, **spec: Any) -> PlayedPod:
    """`said`: annotations without their prefix; spec fields that end in Probe are the container's."""
    container = {name: spec.pop(name) for name in list(spec) if name.endswith("Probe")}
    annotations = {f"kubeloop.io/{word}": value for word, value in (said or {}).items()}
    return PlayedPod(a_pod(a_container(**container), annotations=annotations, **spec))


def ready(played: PlayedPod, seconds: float) -> bool:
    """So many seconds after its container's start."""
    return played.until(STARTED + seconds)["containerStatuses"][0]["ready"] is True


def unhealthy(played: PlayedPod) -> list[str]:
    return [text.removeprefix("Unhealthy: ") for text in played.told if text.startswith("Unhealthy: ")]


def test_a_pod_becomes_unready_and_ready_again() -> None:
    """Not with the first check that fails, but with the third; one that passes makes it ready."""
    played = a_probed_pod({"readiness": "fail@30s,pass@60s"}, readinessProbe=a_probe())

    assert [True, True, False, False, True] == [ready(played, at) for at in (0.1, 49.9, 50.1, 59.9, 60.1)]
    assert ["Readiness probe failed: HTTP probe failed with statuscode: 500"] * 3 == unhealthy(played)
    assert 0 == played.obj["status"]["containerStatuses"][0]["restartCount"]


def test_one_check_that_passes_makes_up_for_failures() -> None:
    """Failures must come one after another to count."""
    played = a_probed_pod({"readiness": "fail@10s,pass@30s,fail@40s,pass@55s"}, readinessProbe=a_probe())

    played.until(100)

    assert ("True", 4) == (played.condition("Ready")[0], len(unhealthy(played)))


def test_a_dead_container_is_restarted() -> None:
    """Three failed checks, then it is killed and told so; the next one starts at once and its time counts anew."""
    played = a_probed_pod({"liveness": "fail@15s"}, livenessProbe=a_probe())

    before = played.until(STARTED + 39.9)["containerStatuses"][0]["restartCount"]
    after = played.until(STARTED + 45)

    assert (0, 1, "running") == (before, after["containerStatuses"][0]["restartCount"], state_of(after))
    assert "Killing: Container c failed liveness probe, will be restarted" in played.told
    assert 3 == len(unhealthy(played))


def test_a_container_that_dies_again_and_again_backs_off() -> None:
    """A failed probe counts as a crash."""
    played = a_probed_pod({"liveness": "fail"}, livenessProbe=a_probe(periodSeconds=1, failureThreshold=1))

    assert "CrashLoopBackOff" == state_of(played.until(6))


@pytest.mark.parametrize(
    ("policy", "phase", "killing"),
    [
        ("Always", "Running", "Container c failed liveness probe, will be restarted"),
        ("OnFailure", "Running", "Container c failed liveness probe, will be restarted"),
        ("Never", "Failed", "Container c failed liveness probe"),
    ],
)
def test_a_policy_decides_whether_a_dead_container_runs_again(policy: str, phase: str, killing: str) -> None:
    """Whatever exit code it had; the message says what comes next."""
    said = {"liveness": "fail", "stop-after": "90s"}
    played = a_probed_pod(said, livenessProbe=a_probe(failureThreshold=1), restartPolicy=policy)

    status = played.until(35)

    assert (phase, {f"Killing: {killing}"}) == (status["phase"], {text for text in played.told if "Killing" in text})


def test_a_probe_may_have_a_grace_of_its_own() -> None:
    """It goes before the pod's."""
    probe = a_probe(failureThreshold=1, terminationGracePeriodSeconds=2)
    played = a_probed_pod({"liveness": "fail", "stop-after": "90s"}, livenessProbe=probe)

    container = played.until(4)["containerStatuses"][0]

    assert (137, 1) == (container["lastState"]["terminated"]["exitCode"], container["restartCount"])


def test_the_startup_probe_holds_the_others_back() -> None:
    """Until it has succeeded the container is neither started nor asked whether it lives or is ready."""
    probes = {"startupProbe": a_probe(failureThreshold=30), "readinessProbe": a_probe(), "livenessProbe": a_probe()}
    played = a_probed_pod({"startup": "fail@0s,pass@20s"}, **probes)

    before = played.until(STARTED + 19.9)["containerStatuses"][0]
    after = played.until(STARTED + 20.1)["containerStatuses"][0]

    assert (False, False, True, True) == (before["started"], before["ready"], after["started"], after["ready"])
    assert ["Startup probe failed: HTTP probe failed with statuscode: 500"] * 2 == unhealthy(played)


def test_what_never_starts_up_is_restarted() -> None:
    """When its startup probe has failed too often."""
    played = a_probed_pod({"startup": "fail"}, startupProbe=a_probe(failureThreshold=2))

    status = played.until(STARTED + 12)

    assert 1 == status["containerStatuses"][0]["restartCount"]
    assert "Killing: Container c failed startup probe, will be restarted" in played.told


def test_a_sidecar_that_does_not_start_up_keeps_the_pod_waiting() -> None:
    """The next container starts when its startup probe has succeeded."""
    side = a_container("side", restartPolicy="Always", startupProbe=a_probe())
    played = PlayedPod(
        a_pod(a_container(), initContainers=[side], annotations={"kubeloop.io/startup.side": "fail@0s,pass@10s"})
    )

    before = played.until(10)
    after = played.until(10.5)

    assert ("Pending", "PodInitializing", "Running", "running") == (
        before["phase"],
        state_of(before),
        after["phase"],
        state_of(after),
    )


@pytest.mark.parametrize(
    ("handler", "outcome", "words"),
    [
        ({"httpGet": {"port": "web", "path": "ok", "scheme": "HTTPS"}}, "hang", 'Get "https://10.0.0.9:8080/ok": cont'),
        ({"tcpSocket": {"port": 5432}}, "fail", "dial tcp 10.0.0.9:5432: connect: connection refused"),
        ({"tcpSocket": {"port": 5432}}, "hang", "dial tcp 10.0.0.9:5432: i/o timeout"),
        ({"grpc": {"port": 9000}}, "fail", 'service unhealthy (responded with "NOT_SERVING")'),
        ({"grpc": {"port": 9000}}, "hang", "timeout: health rpc did not complete within 2s"),
        ({"exec": {"command": ["cat", "/ok"]}}, "fail", ""),
        ({"exec": {"command": ["cat", "/ok"]}}, "hang", 'command timed out: "cat /ok" timed out after 2s'),
    ],
)
def test_each_kind_of_probe_says_why(handler: Object, outcome: str, words: str) -> None:
    """In the words of the real one; one that hangs is told when its timeout is over."""
    probe = {"periodSeconds": 10, "timeoutSeconds": 2, **handler}
    container = a_container(readinessProbe=probe, ports=[{"name": "web", "containerPort": 8080}])
    obj = a_pod(container, annotations={"kubeloop.io/readiness": outcome})
    obj["status"]["podIP"] = "10.0.0.9"
    played = PlayedPod(obj)

    played.until(STARTED + 1.9)
    too_early = unhealthy(played) if outcome == "hang" else []
    played.until(STARTED + 2.1)

    assert ([], 1) == (too_early, len(unhealthy(played)))
    assert unhealthy(played)[0].startswith(f"Readiness probe failed: {words}")


def test_a_pod_that_ends_is_not_asked_whether_it_lives() -> None:
    """Nobody kills what is stopping."""
    played = a_probed_pod({"liveness": "fail@5s", "stop-after": "25s"}, livenessProbe=a_probe(failureThreshold=1))
    played.until(3)
    played.delete()

    played.until(25)

    assert ([], False) == (unhealthy(played), played.is_removable)


def test_passing_probes_cost_nothing() -> None:
    """Nothing is due for a pod that is well."""
    played = a_probed_pod(readinessProbe=a_probe(), livenessProbe=a_probe(), startupProbe=a_probe())
    played.until(1)

    assert played.look() is None


def test_a_restarted_process_tells_no_old_failures() -> None:
    """What the status says of the container holds, and checks go on from now."""
    played = a_probed_pod({"readiness": "fail@5s"}, readinessProbe=a_probe())
    played.until(STARTED + 35)
    told = len(unhealthy(played))

    played.restart_process()

    assert ready(played, 39) is False
    assert told == len(unhealthy(played))
    played.until(STARTED + 41)
    assert told + 1 == len(unhealthy(played))


def test_ready_after_is_what_a_readiness_probe_finds() -> None:
    """The container is ready with the first check after that time."""
    played = a_probed_pod({"ready-after": "12s"}, readinessProbe=a_probe())

    assert [False, True] == [ready(played, at) for at in (19, 20.1)]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"readiness": "down"}, "readiness: 'down' is no outcome of a check: pass, fail or hang; write it as fail@30s"),
        ({"readiness": "fail@1m,pass@30s"}, "readiness: 'pass@30s' comes after 60s"),
        ({"readiness": "fail@never"}, "readiness: invalid duration 'never'"),
        ({"liveness": "fail"}, "liveness: no container has a livenessProbe"),
        ({"startup.c": "fail"}, "startup.c: the container has no startupProbe"),
    ],
)
def test_what_cannot_be_meant_is_told_of(said: dict[str, str], why: str) -> None:
    """So is what would have no effect."""
    played = a_probed_pod(said, readinessProbe=a_probe())

    (error,) = annotation_errors(played.obj)

    assert error.startswith(f"annotation kubeloop.io/{why}")
