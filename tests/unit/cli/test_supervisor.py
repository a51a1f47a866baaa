"""Processes that are started, watched over and stopped; here they are small Python programs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kubeloop.cli.services import Service
from kubeloop.cli.state import ProcessState, StackState, is_alive, own_state, start_time
from kubeloop.cli.supervisor import StartFailed, Supervisor, end_leftovers
from kubeloop.clock import SystemClock
from tests.testkit.eventually import eventually

STAYS = "import signal; signal.pause()"
IGNORES_SIGTERM = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); signal.pause()"
)

NICEST = 19  # of all that Linux knows


def a_service(name: str, program: str = STAYS) -> Service:
    return Service(name, (sys.executable, "-c", program))


class Bench:
    """A supervisor at work, and what it said."""

    def __init__(self, data_dir: Path, *services: Service) -> None:
        self.data_dir, self.said = data_dir, list[str]()
        self.state = StackState("http://x", own_state("supervisor"))
        self.supervisor = Supervisor(services, data_dir, self.state, SystemClock(), self.said.append)

    def run(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        """Run it, do something, stop it."""

        async def both() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.supervisor.run())
                await until(lambda: all(process.pid for process in self.state.processes), "all processes start")
                await meanwhile()
                self.supervisor.stop()

        asyncio.run(both())


async def until(is_so: Callable[[], bool], why: str) -> None:
    await asyncio.to_thread(eventually, is_so, why)


def test_all_run_until_they_are_stopped_in_reverse_order(tmp_path: Path) -> None:
    """Services start in order and stop in the opposite one."""
    bench = Bench(tmp_path, a_service("first"), a_service("second"))
    seen: list[bool] = []

    async def look() -> None:
        bench.supervisor.ready()
        seen.extend(is_alive(process) for process in bench.state.processes)

    bench.run(look)

    assert [True, True] == seen
    assert ["stopping second", "stopping first"] == bench.said
    assert [("stopped", 0), ("stopped", 0)] == [(process.state, process.pid) for process in bench.state.processes]


def test_who_waits_for_another_gives_way_to_it(tmp_path: Path) -> None:
    """A service's niceness is added to the supervisor's own, as far as there is any, also after a restart."""
    waiting = Service("waiting", (sys.executable, "-c", STAYS), niceness=5)
    bench = Bench(tmp_path, a_service("first"), waiting)
    own, seen = os.getpriority(os.PRIO_PROCESS, 0), list[int]()

    def niceness(index: int) -> int:
        return os.getpriority(os.PRIO_PROCESS, bench.state.processes[index].pid)

    async def look() -> None:
        bench.supervisor.ready()
        seen.extend([niceness(0), niceness(1)])
        killed = bench.state.processes[1].pid
        os.kill(killed, signal.SIGKILL)
        await until(lambda: bench.state.processes[1].pid not in (0, killed), "it is started again")
        seen.append(niceness(1))

    bench.run(look)

    nicer = min(own + 5, NICEST)
    assert [own, nicer, nicer] == seen


def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    """It gets another pid, its restarts are counted, and status can see both."""
    bench = Bench(tmp_path, a_service("loop"))

    async def kill() -> None:
        bench.supervisor.ready()
        process = bench.state.processes[0]
        killed = process.pid
        os.kill(killed, signal.SIGKILL)
        await until(lambda: process.pid not in (0, killed), "another process takes its place")
        saved = json.loads((tmp_path / "stack.json").read_text())["processes"][0]
        assert ("running", 1, process.pid) == (saved["state"], saved["restarts"], saved["pid"])

    bench.run(kill)

    assert "loop was killed by SIGKILL; starting it again" in bench.said


def test_one_that_ends_before_the_stack_is_ready_fails_the_start(tmp_path: Path) -> None:
    """Its last words are the reason, and the others are stopped."""
    bench = Bench(tmp_path, a_service("stays"), a_service("fails", "import sys; sys.exit('error: no room')"))

    with pytest.raises(StartFailed) as failed:
        asyncio.run(bench.supervisor.run())

    assert "fails ended with exit code 1: error: no room" == str(failed.value)
    assert [0, 0] == [process.pid for process in bench.state.processes]


def test_one_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can hold up the end."""
    monkeypatch.setattr("kubeloop.cli.supervisor.STOP_SECONDS", 0.05)
    bench = Bench(tmp_path, a_service("deaf", IGNORES_SIGTERM))
    log = tmp_path / "logs" / "deaf.log"

    async def until_deaf() -> None:
        await until(lambda: log.exists() and "on" in log.read_text(), "it no longer listens to SIGTERM")

    bench.run(until_deaf)

    assert [0] == [process.pid for process in bench.state.processes]


def test_leftovers_of_a_killed_supervisor_are_ended(tmp_path: Path) -> None:
    """What still runs of an older stack is stopped before a new one starts."""
    said: list[str] = []
    bench = Bench(tmp_path, a_service("orphan"))

    async def end_them() -> None:
        bench.supervisor.ready()
        orphan = bench.state.processes[0]
        pid = orphan.pid
        saved = StackState.load(tmp_path)
        assert saved is not None
        await end_leftovers(saved, SystemClock(), said.append)
        assert [f"ending orphan (pid {pid}), left over from a supervisor that was killed"] == said

    bench.run(end_them)


def test_another_process_with_the_same_pid_is_not_taken_for_ours() -> None:
    """A pid is only trusted together with the time its process started."""
    own = own_state("me")
    own.started = "12345"

    assert not is_alive(own)


# Its first thread ends, as after kill -9 that of a server whose other threads are still writing to a slow disk.
LINGERS = "import ctypes, threading; threading.Thread(target=input).start(); ctypes.CDLL(None).pthread_exit(None)"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ps tells it")
def test_a_process_is_there_until_its_last_thread_has_ended() -> None:
    """So long it holds its port and its locks, and nobody can take its place."""
    with subprocess.Popen([sys.executable, "-c", LINGERS], stdin=subprocess.PIPE) as process:
        lingering = ProcessState("lingers", process.pid, started=start_time(process.pid))
        stat = Path(f"/proc/{process.pid}/stat")
        eventually(lambda: ") Z " in stat.read_text(), "its first thread ends")

        assert is_alive(lingering)
        process.kill()
        eventually(lambda: not is_alive(lingering), "all of it has ended")
