"""Pods whose containers are processes: an in-process cluster on virtual time, and processes nothing stands behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim import pod_spec, simulator
from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.observations import Ended, Started
from kubelet_sim.process.machine import Machine
from kubelet_sim.process.runtime import ProcessRuntime
from kubelet_sim.settings import Settings
from kubelet_sim.state import Container, PodRuntime, State
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, EVENTS, PODS
from kubeloop.client.api import STRATEGIC
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from kubeloop.testing.virtual_time import EPOCH, LoopClock, run
from tests.testkit.fake_processes import FakeNetwork, FakeProcess, FakeProcesses
from tests.unit.kubelet_sim.played_pod import a_container, a_pod
from tests.unit.kubelet_sim.process.test_world import AnApi
from tests.unit.kubelet_sim.test_faults import phase_is_served
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes

SERVES = ["sleep", "1000000"]


class World:
    """What a test has at hand: a cluster with one node whose containers are run by `processes`."""

    def __init__(self, cluster: Cluster, processes: FakeProcesses, network: FakeNetwork, root_dir: Path) -> None:
        self.cluster, self.processes, self.network, self.root_dir = cluster, processes, network, root_dir

    async def pod(self, *containers: Object, name: str = "web", **spec: Any) -> Object:
        named = [{"image": "i", "name": f"c{i}", **one} for i, one in enumerate(containers)]
        return await self.cluster.create(pod_on("node-0", name, containers=named, **spec))

    async def until(self, pod: Object, check: Callable[[Object], object], within_seconds: float = 600) -> Object:
        """The pod's status as soon as it is so."""

        async def is_so() -> Object | None:
            status: Object = (await self.cluster.read(pod)).get("status") or {}
            return status if status.get("containerStatuses") and check(status) else None

        return await self.cluster.eventually(is_so, within_seconds=within_seconds)  # type: ignore[return-value]

    async def events(self, reason: str) -> list[str]:
        return [one["message"] for one in await self.cluster.list(EVENTS, "default") if one["reason"] == reason]

    async def gone(self, pod: Object) -> None:
        async def is_gone() -> bool:
            found = await self.cluster.list(PODS, "default")
            return pod["metadata"]["name"] not in [one["metadata"]["name"] for one in found]

        await self.cluster.eventually(is_gone)


def run_processes(
    root_dir: Path, check: Callable[[World], Coroutine[Any, Any, None]], faults: bool = False, **programs: Any
) -> None:
    processes, network = FakeProcesses(programs), FakeNetwork()
    machine = Machine(root_dir, "/bin", processes, network)
    add_to = partial(simulator.add_to, settings=Settings(nodes=1, faults=faults), machine=machine)

    async def main(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await check(World(cluster, processes, network, root_dir))

    run_cluster(main, processes={KUBELET: a_loop(add_to)})


def leave_message(process: FakeProcess, text: str) -> None:
    Path(process.command.environment["KUBELOOP_ROOT"], "dev/termination-log").write_text(text)


def state(status: Object, index: int = 0, word: str = "state") -> tuple[str, Object]:
    """How a container stands, and what is said of it."""
    [(name, details)] = sorted(status["containerStatuses"], key=lambda one: one["name"])[index][word].items()
    return name, details


def phase(wanted: str) -> Callable[[Object], bool]:
    return lambda status: status["phase"] == wanted


def restarted(times: int) -> Callable[[Object], bool]:
    return lambda status: status["containerStatuses"][0]["restartCount"] >= times


def is_ready(status: Object) -> bool:
    return all(one["ready"] for one in status["containerStatuses"])


@pytest.mark.parametrize(
    ("command", "phase_then", "code", "reason"),
    [(["echo", "hi"], "Succeeded", 0, "Completed"), (["sh", "-c", "exit 3"], "Failed", 3, "Error")],
)
def test_a_command_runs_and_its_exit_code_is_told(
    tmp_path: Path, command: list[str], phase_then: str, code: int, reason: str
) -> None:
    """The image and what annotations say do not matter; what is simulated beside it stays so."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": command, "image": "does-not-exist"}, restartPolicy="Never")
        status = await world.until(pod, phase(phase_then))

        name, ended = state(status)
        assert ("terminated", code, reason) == (name, ended["exitCode"], ended["reason"])
        assert ["Container started"] == await world.events("Started")
        assert [] == await world.events("Pulling")

    run_processes(tmp_path, check)


def test_a_container_without_a_command_is_simulated_and_says_so(tmp_path: Path) -> None:
    """Its image is not looked at."""

    async def check(world: World) -> None:
        pod = await world.pod({}, {"command": SERVES})
        await world.until(pod, is_ready)

        assert [" ".join(SERVES)] == world.processes.alive()
        assert ["Container c0 has no command: its image is not run, but simulated"] == await world.events("Simulated")

    run_processes(tmp_path, check)


def test_a_command_that_is_not_there_is_told_as_containerd_tells_it(tmp_path: Path) -> None:
    """RunContainerError at first, then the back-off; the last state says why."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": ["foo"]})
        first = await world.until(pod, lambda status: state(status)[1].get("reason") == "RunContainerError")
        later = await world.until(pod, lambda status: state(status)[1].get("reason") == "CrashLoopBackOff")

        for status in (first, later):
            _, last = state(status, word="lastState")
            assert ("StartError", 128) == (last["reason"], last["exitCode"])
        assert state(first)[1]["message"].endswith('exec: "foo": executable file not found in $PATH: unknown')
        assert (await world.events("Failed"))[0].startswith("Error: failed to create containerd task: ")

    run_processes(tmp_path, check)


def test_a_pod_whose_command_is_never_found_fails(tmp_path: Path) -> None:
    """Where its policy is not to restart."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": ["foo"]}, restartPolicy="Never")

        assert "StartError" == state(await world.until(pod, phase("Failed")))[1]["reason"]

    run_processes(tmp_path, check)


def test_what_crashes_is_started_again_ever_more_slowly(tmp_path: Path) -> None:
    """A process a run, never two at once, and what the last one left as its message."""

    async def crash(process: FakeProcess) -> int:
        leave_message(process, "why")
        return 2

    async def check(world: World) -> None:
        pod = await world.pod({"command": ["crash"]})
        begun = world.cluster.clock.monotonic()
        status = await world.until(pod, restarted(4))

        assert "why" == state(status, word="lastState")[1]["message"]
        assert 5 == len(world.processes.started)
        assert world.cluster.clock.monotonic() - begun >= 10 + 20 + 40

    run_processes(tmp_path, check, crash=crash)


def test_the_log_says_why_where_a_container_asks_for_that(tmp_path: Path) -> None:
    """FallbackToLogsOnError: when it failed and left no message."""

    async def check(world: World) -> None:
        container = {"command": ["fail"], "terminationMessagePolicy": "FallbackToLogsOnError"}
        pod = await world.pod(container, restartPolicy="Never")

        assert "the reason\n" == state(await world.until(pod, phase("Failed")))[1]["message"]

    async def fail(process: FakeProcess) -> int:
        process.print("the reason\n")
        return 1

    run_processes(tmp_path, check, fail=fail)


def test_init_containers_go_one_by_one_and_sidecars_stay(tmp_path: Path) -> None:
    """A sidecar is told to stop when the last container has ended."""
    order: list[str] = []

    def noting(name: str, seconds: float) -> Callable[[FakeProcess], Coroutine[Any, Any, int]]:
        async def program(process: FakeProcess) -> int:
            order.append(f"{name} begins")
            await process.sleep(seconds)
            order.append(f"{name} ends")
            return 0

        return program

    async def check(world: World) -> None:
        init = [
            {"name": "a", "image": "i", "command": ["a"]},
            {"name": "side", "image": "i", "command": SERVES, "restartPolicy": "Always"},
            {"name": "b", "image": "i", "command": ["b"]},
        ]
        pod = await world.pod({"command": ["main"]}, restartPolicy="Never", initContainers=init)
        await world.until(pod, phase("Succeeded"))

        assert [f"{name} {word}" for name in ("a", "b", "main") for word in ("begins", "ends")] == order
        assert [] == world.processes.alive()

    run_processes(tmp_path, check, a=noting("a", 5), b=noting("b", 5), main=noting("main", 5))


def test_a_pod_that_is_deleted_is_asked_to_stop_first(tmp_path: Path) -> None:
    """preStop, SIGTERM, and SIGKILL for what stays when the grace is over; its files go with it."""

    async def stubborn(process: FakeProcess) -> int:
        process.trap[signal.SIGTERM] = lambda: None
        return await process.sleep()

    async def check(world: World) -> None:
        hook = {"preStop": {"exec": {"command": ["sleep", "2"]}}}
        pod = await world.pod({"command": ["stubborn"], "lifecycle": hook}, {"command": SERVES})
        await world.until(pod, is_ready)
        begun = world.cluster.clock.monotonic()
        await world.cluster.delete(pod, grace_period_seconds=10)
        await world.gone(pod)
        took = world.cluster.clock.monotonic() - begun
        await world.cluster.clock.sleep(1)

        by_name = {" ".join(one.argv): one.signals for one in world.processes.started}
        assert [signal.SIGTERM, signal.SIGKILL] == by_name["stubborn"]
        assert signal.SIGTERM == by_name[" ".join(SERVES)][0]
        assert "sleep 2" in by_name and 10 <= took < 13
        assert [] == list((world.root_dir / "pods").iterdir())

    run_processes(tmp_path, check, stubborn=stubborn)


def test_a_pod_deleted_by_force_is_killed(tmp_path: Path) -> None:
    """Its object is gone at once, and its processes with it."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": SERVES})
        await world.until(pod, is_ready)
        await world.cluster.delete(pod, grace_period_seconds=0)
        await world.cluster.clock.sleep(1)

        assert [] == world.processes.alive()
        assert [] == list((world.root_dir / "pods").iterdir())

    run_processes(tmp_path, check)


def test_the_deadline_of_a_pod_ends_its_processes(tmp_path: Path) -> None:
    """activeDeadlineSeconds."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": SERVES}, activeDeadlineSeconds=30)
        status = await world.until(pod, lambda status: status["phase"] == "Failed" and "terminated" in state(status)[0])

        assert ("DeadlineExceeded", 143) == (status["reason"], state(status)[1]["exitCode"])

    run_processes(tmp_path, check)


def test_probes_ask_the_process(tmp_path: Path) -> None:
    """Ready when the port answers, no longer when it says 500; killed when the liveness check fails, and restarted."""

    async def check(world: World) -> None:
        probed = {
            "command": SERVES,
            "ports": [{"name": "http", "containerPort": 8080}],
            "startupProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 60},
            "readinessProbe": {"httpGet": {"port": "http", "path": "/ok"}, "periodSeconds": 1},
            "livenessProbe": {"exec": {"command": ["healthy"]}, "periodSeconds": 1},
        }
        pod = await world.pod(probed)
        await world.until(pod, phase("Running"))
        await world.cluster.clock.sleep(10)
        assert not is_ready(await world.until(pod, phase("Running")))

        world.network.answers[8080] = 200
        await world.until(pod, is_ready)
        world.network.answers[8080] = 500
        await world.until(pod, lambda status: not is_ready(status))
        healthy.clear()
        status = await world.until(pod, restarted(1))

        told = await world.events("Unhealthy")
        assert "Startup probe failed: dial tcp 127.0.0.1:8080: connect: connection refused" in told
        assert "Readiness probe failed: HTTP probe failed with statuscode: 500" in told
        assert "Liveness probe failed: ill" in told
        assert "Container c0 failed liveness probe, will be restarted" in await world.events("Killing")
        assert 143 == state(status, word="lastState")[1]["exitCode"]

    healthy = {"yes"}

    async def healthy_program(process: FakeProcess) -> int:
        process.print("" if healthy else "ill")
        return 0 if healthy else 1

    run_processes(tmp_path, check, healthy=healthy_program)


def test_what_failed_its_liveness_probe_is_stopped_once(tmp_path: Path) -> None:
    """The run that comes after is not told to stop, however often its pod is looked at while it is being created."""

    async def check(world: World) -> None:
        probed = {
            "command": SERVES,
            "livenessProbe": {"exec": {"command": ["healthy"]}, "periodSeconds": 1, "failureThreshold": 2},
            "lifecycle": {"postStart": {"exec": {"command": ["sleep", "3"]}}},
        }
        pod = await world.pod(probed)
        await world.until(pod, is_ready)
        healthy.clear()
        await world.until(pod, lambda status: "terminated" in state(status)[0])
        healthy.add("yes")
        await world.until(pod, restarted(1))
        await world.cluster.clock.sleep(60)

        status = await world.until(pod, is_ready)
        assert 1 == status["containerStatuses"][0]["restartCount"]

    healthy = {"yes"}

    async def healthy_program(process: FakeProcess) -> int:
        return 0 if healthy else 1

    run_processes(tmp_path, check, healthy=healthy_program)


def test_a_check_that_gets_no_answer_fails(tmp_path: Path) -> None:
    """And the command that it runs does not stay."""

    async def check(world: World) -> None:
        world.network.hangs.add(80)
        one = {"command": SERVES, "readinessProbe": {"exec": {"command": ["sleep", "99"]}, "failureThreshold": 1}}
        two = {"command": SERVES, "readinessProbe": {"httpGet": {"port": 80}, "failureThreshold": 1}}
        await world.pod(one, two)
        await world.cluster.clock.sleep(8)

        assert {
            'Readiness probe failed: command timed out: "sleep 99" timed out after 1s',
            'Readiness probe failed: Get "http://127.0.0.1:80/": context deadline exceeded '
            "(Client.Timeout exceeded while awaiting headers)",
        } == set(await world.events("Unhealthy"))
        assert {" ".join(SERVES)} == set(world.processes.alive())

    run_processes(tmp_path, check)


def test_a_container_has_started_when_its_hook_has_ended(tmp_path: Path) -> None:
    """postStart; and one that fails ends the container."""

    async def check(world: World) -> None:
        good = {"command": SERVES, "lifecycle": {"postStart": {"exec": {"command": ["sleep", "20"]}}}}
        bad = {"command": SERVES, "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "exit 1"]}}}}
        waiting = await world.pod(good, name="waiting")
        failing = await world.pod(bad, name="failing", restartPolicy="Never")
        await world.cluster.clock.sleep(10)

        assert "ContainerCreating" == state(await world.until(waiting, phase("Pending")))[1]["reason"]
        await world.until(waiting, is_ready)
        assert 143 == state(await world.until(failing, phase("Failed")))[1]["exitCode"]
        assert ["PostStartHook failed"] == await world.events("FailedPostStartHook")
        assert ["FailedPostStartHook"] == await world.events("Killing")

    run_processes(tmp_path, check)


def test_a_container_whose_hook_fails_is_tried_again(tmp_path: Path) -> None:
    """It says why it waits, and backs off as one that crashes."""

    async def check(world: World) -> None:
        bad = {"command": SERVES, "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "exit 1"]}}}}
        pod = await world.pod(bad)
        await world.until(pod, lambda status: "PostStartHookError" == state(status)[1].get("reason"))
        status = await world.until(pod, lambda status: "CrashLoopBackOff" == state(status)[1].get("reason"))

        assert 143 == state(status, word="lastState")[1]["exitCode"]

    run_processes(tmp_path, check)


@pytest.mark.parametrize(("code", "first"), [(0, "running"), (1, "terminated")])
def test_a_hook_holds_back_the_containers_that_come_after(tmp_path: Path, code: int, first: str) -> None:
    """Until it has ended, well or not."""

    async def warmup(process: FakeProcess) -> int:
        await process.sleep(20)
        return code

    async def check(world: World) -> None:
        hook = {"lifecycle": {"postStart": {"exec": {"command": ["warmup"]}}}}
        pod = await world.pod({"command": SERVES, **hook}, {"command": ["sleep", "2000"]}, {}, restartPolicy="Never")
        await world.cluster.clock.sleep(10)
        assert [" ".join(SERVES), "warmup"] == world.processes.alive()

        status = await world.until(pod, lambda status: "running" == state(status, 1)[0] == state(status, 2)[0])
        assert first == state(status)[0]

    run_processes(tmp_path, check, warmup=warmup)


def test_containers_do_not_survive_their_kubelet(tmp_path: Path) -> None:
    """Whether it was stopped or killed: they are found lost, and restart as their policies say, with new processes."""

    async def check(world: World) -> None:
        always = await world.pod({"command": SERVES}, name="always")
        never = await world.pod({"command": SERVES}, name="never", restartPolicy="Never")
        for pod in (always, never):
            await world.until(pod, is_ready)
        await world.cluster.stop(KUBELET)
        assert [] == world.processes.alive()
        world.cluster.start(KUBELET)
        ended = await world.until(never, phase("Failed"))
        status = await world.until(always, lambda status: restarted(1)(status) and is_ready(status))

        assert ("Unknown", 255) == (state(ended)[1]["reason"], state(ended)[1]["exitCode"])
        assert "Unknown" == state(status, word="lastState")[1]["reason"]
        assert [" ".join(SERVES)] == world.processes.alive()

    run_processes(tmp_path, check)


def test_files_of_pods_that_went_meanwhile_are_removed(tmp_path: Path) -> None:
    """A kubelet that starts removes what belongs to nobody."""
    (tmp_path / "pods" / "long-gone" / "volumes").mkdir(parents=True)

    async def check(world: World) -> None:
        pod = await world.pod({"command": SERVES})
        await world.until(pod, is_ready)

        assert [pod["metadata"]["uid"]] == [one.name for one in (tmp_path / "pods").iterdir()]

    run_processes(tmp_path, check)


def test_a_new_image_is_a_new_process(tmp_path: Path) -> None:
    """Although images mean nothing: the definition has changed, as people are told."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": SERVES})
        await world.until(pod, is_ready)
        change = {"spec": {"containers": [{"name": "c0", "image": "i:2"}]}}
        await world.cluster.api.patch(PODS, "web", change, "default", patch_type=STRATEGIC)
        status = await world.until(pod, restarted(1))

        assert "i:2" == status["containerStatuses"][0]["image"]
        assert ["Container c0 definition changed, will be restarted"] == await world.events("Killing")

    run_processes(tmp_path, check)


def test_a_config_map_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    """As with any kubelet; then the process has it."""

    async def check(world: World) -> None:
        reference = {"configMapKeyRef": {"name": "later", "key": "colour"}}
        pod = await world.pod({"command": ["env"], "env": [{"name": "COLOUR", "valueFrom": reference}]})
        await world.until(pod, lambda status: state(status)[1].get("reason") == "CreateContainerConfigError")
        assert [] == world.processes.started
        later = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later", "namespace": "default"}}
        await world.cluster.api.create(CONFIG_MAPS, {**later, "data": {"colour": "blue"}})
        await world.until(pod, restarted(1))

        assert "blue" == world.processes.started[0].command.environment["COLOUR"]

    run_processes(tmp_path, check)


def test_nothing_is_started_on_news_that_nobody_has_heard(tmp_path: Path) -> None:
    """A process that has ended since its pod was looked at is not missing: its end is about to be told."""

    async def main() -> None:
        processes, woken = FakeProcesses(), list[Any]()
        machine, api = Machine(tmp_path, "/bin", processes, FakeNetwork()), AnApi()
        runtime = ProcessRuntime(machine, api, LoopClock(), woken.append, list)  # type: ignore[arg-type]
        running = asyncio.ensure_future(runtime.run())
        obj = a_pod(a_container(command=["sh", "-c", "exit 1"]))
        pod = pod_spec.read(obj, 0, is_real=runtime.runs)
        creating = PodRuntime(pod.uid, EPOCH, (Container("c", State.CREATING),))
        for _ in range(3):
            await runtime.carry_out(obj, pod, creating)
            await asyncio.sleep(1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        assert 1 == len(processes.started)
        assert [Started, Ended] == [type(one) for one in runtime.observed(pod.uid)]
        assert {pod.key} == set(woken)

    run(main())


def test_a_node_that_was_off_has_lost_its_processes(tmp_path: Path) -> None:
    """When it is on again: the old ones end, and new ones take their place, one for each container."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": SERVES})
        await world.until(pod, is_ready)
        await phase_is_served(world.cluster)
        fault = {"type": "NodeDown", "nodes": {"names": ["node-0"]}, "duration": "30s"}
        meta = {"apiVersion": FAULTS.api_version, "kind": FAULTS.kind, "metadata": {"name": "power-cut"}}
        await world.cluster.api.create(FAULTS, {**meta, "spec": fault})
        status = await world.until(pod, lambda status: restarted(1)(status) and is_ready(status))
        await world.cluster.clock.sleep(5)

        assert 255 == state(status, word="lastState")[1]["exitCode"]
        assert [" ".join(SERVES)] == world.processes.alive()
        assert 2 == len(world.processes.started)

    run_processes(tmp_path, check, faults=True)


def test_files_follow_what_they_are_made_of(tmp_path: Path) -> None:
    """A ConfigMap that changes while the container runs, and labels of the pod: after a minute, as with a kubelet."""

    async def check(world: World) -> None:
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
        await world.cluster.api.create(CONFIG_MAPS, {**settings, "data": {"a": "1", "b": "2"}})
        labels = {"path": "colour", "fieldRef": {"fieldPath": "metadata.labels['colour']"}}
        volumes = [{"name": "s", "configMap": {"name": "s"}}, {"name": "d", "downwardAPI": {"items": [labels]}}]
        mounts = [{"name": "s", "mountPath": "/s"}, {"name": "d", "mountPath": "/d"}]
        pod = await world.pod({"command": SERVES, "volumeMounts": mounts}, volumes=volumes)
        await world.until(pod, is_ready)
        await world.cluster.api.patch(CONFIG_MAPS, "s", {"data": {"a": "3", "b": None}}, "default")
        await world.cluster.patch(pod, {"metadata": {"labels": {"colour": "blue"}}})
        await world.cluster.clock.sleep(61)

        assert {"s/a": "3", "d/colour": "blue"} == files_of(world.processes.started[0], "s", "d")

    run_processes(tmp_path, check)


def files_of(process: FakeProcess, *mounts: str) -> dict[str, str]:
    root = Path(process.command.environment["KUBELOOP_ROOT"])
    return {f"{mount}/{path.name}": path.read_text() for mount in mounts for path in (root / mount).iterdir()}


def test_of_a_container_two_logs_are_kept(tmp_path: Path) -> None:
    """That of the run under way and the one before, however often it crashed."""

    async def check(world: World) -> None:
        pod = await world.pod({"command": ["sh", "-c", "exit 1"]})
        await world.until(pod, restarted(5), within_seconds=900)
        await asyncio.sleep(5)

        assert 2 == len(list((tmp_path / "pods" / pod["metadata"]["uid"] / "logs" / "c0").iterdir()))

    run_processes(tmp_path, check)
