"""Starts the stack's processes, restarts those that die, and stops them all in reverse order.

The supervisor knows nothing of Kubernetes: a stack is healthy because its loops converge, not because of anything done
here. What it sees it writes to stack.json.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kubeloop.apimachinery.clock import Clock
from kubeloop.cli.services import Service
from kubeloop.cli.state import RESTARTING, RUNNING, STARTING, STOPPED, ProcessState, StackState, is_alive, start_time

# A process that dies is started again after 0.1 s, doubling to 5 s; one that ran for 10 s begins anew at 0.1 s.
FIRST_RESTART_SECONDS = 0.1
MAX_RESTART_SECONDS = 5.0
SETTLED_SECONDS = 10.0
# How long a process may take to stop before it is killed.
STOP_SECONDS = 8.0

Report = Callable[[str], None]


class StartFailed(Exception):
    """A process ended before the stack was ready; the text is the last thing it said."""


class Supervisor:
    """Runs services until `stop` is called."""

    def __init__(
        self, services: Sequence[Service], data_dir: Path, state: StackState, clock: Clock, report: Report
    ) -> None:
        self._services, self._data_dir, self._state = services, data_dir, state
        self._clock, self._report = clock, report
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()
        self._is_ready = False
        state.processes = [ProcessState(service.name) for service in services]

    def stop(self) -> None:
        self._stopping.set()

    def ready(self) -> None:
        """From now on a process that ends is restarted; before, it is a failed start."""
        self._is_ready = True
        self._state.ready = True
        self._save()

    async def run(self) -> None:
        """Start everything, keep it running, and on `stop` end it. Raises StartFailed."""
        self._logs().mkdir(parents=True, exist_ok=True)
        try:
            async with asyncio.TaskGroup() as tasks:
                keepers = [
                    tasks.create_task(self._keep(service, index)) for index, service in enumerate(self._services)
                ]
                await self._stopping.wait()
                for keeper in keepers:
                    keeper.cancel()
        except* StartFailed as failures:
            raise failures.exceptions[0] from None
        finally:
            await self._stop_all()

    async def _keep(self, service: Service, index: int) -> None:
        """Run one service for ever."""
        process_state = self._state.processes[index]
        pause = FIRST_RESTART_SECONDS
        while True:
            began = self._clock.monotonic()
            process = await self._start(service, process_state)
            code = await process.wait()
            if not self._is_ready:
                raise StartFailed(f"{service.name} {_ending(code)}: {self._last_words(service)}")
            if self._clock.monotonic() - began > SETTLED_SECONDS:
                pause = FIRST_RESTART_SECONDS
            process_state.pid, process_state.state = 0, RESTARTING
            process_state.restarts += 1
            self._save()
            self._report(f"{service.name} {_ending(code)}; starting it again")
            await self._clock.sleep(pause)
            pause = min(pause * 2, MAX_RESTART_SECONDS)

    async def _start(self, service: Service, process_state: ProcessState) -> asyncio.subprocess.Process:
        process_state.state = STARTING
        with self._log_file(service).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *service.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the supervisor only, which stops the rest in order
            )
        if service.niceness:
            with suppress(OSError):  # it has ended already, which its keeper sees
                os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + service.niceness)
        self._running[service.name] = process
        process_state.pid, process_state.started = process.pid, start_time(process.pid)
        process_state.state = RUNNING
        self._save()
        return process

    async def _stop_all(self) -> None:
        for service in reversed(self._services):
            process = self._running.pop(service.name, None)
            if process is not None and process.returncode is None:
                self._report(f"stopping {service.name}")
                await self._stop_one(process)
        for process_state in self._state.processes:
            process_state.pid, process_state.state = 0, STOPPED
        self._state.ready = False
        self._save()

    async def _stop_one(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _save(self) -> None:
        """A full disk must not end what runs: `kubeloop status` then shows the last state that could be written."""
        with suppress(OSError):
            self._state.save(self._data_dir)

    def _logs(self) -> Path:
        return self._data_dir / "logs"

    def _log_file(self, service: Service) -> Path:
        return self._logs() / f"{service.name}.log"

    def _last_words(self, service: Service) -> str:
        """The last line a process wrote, which says why it ended."""
        try:
            lines = self._log_file(service).read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it said nothing"


def _ending(code: int) -> str:
    """How a process ended, of its exit code as asyncio has it."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


async def end_leftovers(state: StackState, clock: Clock, report: Report) -> None:
    """End processes that outlived their supervisor (it was killed): they hold the port and the database."""
    for process in reversed(state.processes):
        if is_alive(process):
            report(f"ending {process.name} (pid {process.pid}), left over from a supervisor that was killed")
            await end_process(process, clock)


async def end_process(process: ProcessState, clock: Clock) -> None:
    """Ask a process that is not our child to stop, and kill it where it does not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = clock.monotonic() + STOP_SECONDS * 2
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return
        while clock.monotonic() < deadline:
            if not is_alive(process):
                return
            await clock.sleep(0.05)
