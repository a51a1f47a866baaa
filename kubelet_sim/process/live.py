"""One run of a container: its files, its process and output, its hooks and probes, how it is stopped and how it ends.

Semantics: startContainer and killContainer of pkg/kubelet/kuberuntime/kuberuntime_container.go (v1.36).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from kubelet_sim import hooks
from kubelet_sim.last_words import MAX_LOG_BYTES, MAX_LOG_LINES, MAX_MESSAGE_BYTES
from kubelet_sim.moments import MINIMUM_GRACE_SECONDS
from kubelet_sim.observations import Checked, Ended, NotStarted, Observation, Started, StartFailed, Told
from kubelet_sim.probes import Kind, Outcome
from kubelet_sim.process import actions, words, world
from kubelet_sim.process.actions import Unreachable
from kubelet_sim.process.machine import Machine
from kubelet_sim.process.prober import Prober
from kubelet_sim.process.processes import STDERR, STDOUT, CannotStart, Process
from kubelet_sim.process.run_log import RunLog
from kubelet_sim.process.world import Places, World
from kubelet_sim.state import ContainerSpec, pod_title
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import moment_after
from kubeloop.client.api import Api

SHUTDOWN_SECONDS = 1.5  # what processes have when this one ends: its supervisor does not wait for long

SYNC_SECONDS = 60.0  # syncFrequency
_LAST_OUTPUT_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 2.0
_MAX_WATCHED = 256  # pieces of output that an attached client has not read; then it loses the oldest

Report = Callable[[Observation], None]
Watching = asyncio.Queue[tuple[int, bytes] | None]  # None: the end


class LiveContainer:
    def __init__(
        self,
        pod: Object,
        spec: ContainerSpec,
        run_id: str,
        grace_seconds: float,
        machine: Machine,
        api: Api,
        tokens: Tokens,
        clock: Clock,
        report: Report,
    ) -> None:
        """`grace_seconds`: of the pod, for a container whose postStart hook fails."""
        self.pod = pod  # the newest that is known
        self._spec, self.run_id, self._grace_seconds = spec, run_id, grace_seconds
        self._machine, self._api, self._tokens, self._clock, self._report = machine, api, tokens, clock, report
        self._places = Places.of(machine.root_dir, pod["metadata"]["uid"], spec.name)
        self.log = RunLog(self._places.log(run_id), clock)
        self._fields: Any = spec.fields
        self._hooks = self._fields.get("lifecycle") or {}
        self._prober = Prober(self._fields, spec.behaviour.probes, self.call, machine.network, clock, self._checked)
        self._world: World | None = None
        self._process: Process | None = None
        self._has_started = False
        self._hook_error = ""
        self._told, self._hurry = asyncio.Event(), asyncio.Event()
        self._asked: datetime | None = None  # the earliest moment anybody has given it
        self._deadline: datetime | None = None
        self._sessions: set[Process] = set()  # commands of exec, probes and hooks
        self._watching: set[Watching] = set()
        self.over = asyncio.Event()

    async def run(self) -> None:
        """From its files to its end; each step is reported."""
        try:
            found = await self._prepared()
            if found is None:
                self._report(NotStarted(self._spec.name))
                return
            process = await self._machine.processes.start(found.command)
            self._world, self._process = found, process
            await self._attend(found, process)
        except CannotStart as error:
            why = words.start_failed(str(error))
            self._report(StartFailed(self._spec.name, self._clock.now(), why))
        finally:
            self.over.set()

    # --- what others ask of it

    @property
    def is_stopping(self) -> bool:
        return self._told.is_set()

    def stop(self, deadline: datetime) -> None:
        """Ask it to stop; at the deadline it is killed. An earlier one goes before."""
        if self._asked is None or deadline < self._asked:
            self._asked = self._deadline = deadline
            self._told.set()
            self._hurry.set()

    def ask(self, kinds: Collection[Kind]) -> None:
        """These probes are asked from now on."""
        self._prober.ask(kinds)

    async def start(self, argv: Sequence[str], *, has_stdin: bool = False, has_terminal: bool = False) -> Process:
        """Another command beside the first one; it is killed with the container. Raises CannotStart."""
        if self._world is None or self.over.is_set():
            raise CannotStart("the container does not run")
        command = self._world.of_command(argv, has_stdin=has_stdin, has_terminal=has_terminal)
        process = await self._machine.processes.start(command)
        self._sessions.add(process)
        return process

    def end(self, process: Process) -> None:
        """Of one that was started here; whatever is left of it is killed."""
        process.signal(signal.SIGKILL, group=True)
        self._sessions.discard(process)

    async def call(self, argv: Sequence[str]) -> tuple[int, str]:
        """Exit code and output of such a command. Raises CannotStart."""
        process = await self.start(argv)
        try:
            return await actions.output_of(process)
        finally:
            self.end(process)

    @contextmanager
    def watch(self) -> Iterator[Watching]:
        """What it writes from now on."""
        watching: Watching = asyncio.Queue(_MAX_WATCHED)
        self._watching.add(watching)
        try:
            yield watching
        finally:
            self._watching.discard(watching)

    async def write(self, data: bytes) -> None:
        """To the standard input of its first process, where the container has one."""
        if self._process is not None:
            await self._process.write(data)

    async def close_stdin(self) -> None:
        """`stdinOnce`: whoever attached has gone."""
        if self._process is not None and self._fields.get("stdinOnce"):
            await self._process.close_stdin()

    def resize(self, columns: int, rows: int) -> None:
        if self._process is not None:
            self._process.resize(columns, rows)

    # --- its life

    async def _prepared(self) -> World | None:
        """None where it is told to stop before its files are there."""
        told = ""
        while not self._told.is_set():
            try:
                return await world.prepare(
                    self._api, self._tokens, self.pod, self._fields, self._places, self._machine.path
                )
            except (ApiError, OSError) as error:
                if str(error) != told:
                    told = str(error)
                    self._tell("Warning", "FailedMount", f"MountVolume.SetUp failed: {told}")
            await _within(self._told, _LOOK_AGAIN_SECONDS)
        return None

    async def _attend(self, found: World, process: Process) -> None:
        started_at = self._clock.now()
        with suppress(OSError):  # a full disk: it runs without a log
            self.log.begin()
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = [tasks.create_task(self._record(process, stream)) for stream in (STDOUT, STDERR)]
                attending = [
                    tasks.create_task(self._begin(started_at)),
                    tasks.create_task(self._stop_when_told(process)),
                    tasks.create_task(self._keep_files_fresh()),
                ]
                code = await process.wait()
                for task in attending:
                    task.cancel()
                await asyncio.wait(reading, timeout=_LAST_OUTPUT_SECONDS)
                process.close()
        finally:
            await self._end_everything(found, process)
        self._report_start(started_at)
        message = self._message(found.message_file, code)
        now = self._clock.now()
        self._report(Ended(self._spec.name, self.run_id, now, code, "", message, self._hook_error))

    async def _begin(self, started_at: datetime) -> None:
        """It counts as started when its postStart hook has ended well; then its probes begin."""
        hook = self._hooks.get("postStart")
        if hook and (why := await self._carry_out(hook)) is not None:
            self._hook_error = hooks.failure(hook, self._fields, pod_title(self.pod), *why)
            self._tell("Warning", "FailedPostStartHook", "PostStartHook failed")
            self._tell("Normal", "Killing", "FailedPostStartHook")
            self.stop(moment_after(self._clock.now(), self._grace_seconds))
            return
        self._report_start(started_at)
        await self._prober.run()

    async def _keep_files_fresh(self) -> None:
        """As a kubelet: what has changed in the API shows in the volumes after a while."""
        while True:
            await self._clock.sleep(SYNC_SECONDS)
            with suppress(ApiError, OSError):
                await world.refresh(self._api, self._tokens, self.pod, self._places)

    async def _record(self, process: Process, stream: int) -> None:
        """A program that writes without an end has to wait: half of the time is for all the others."""
        while data := await process.read(stream):
            begun = self._clock.monotonic()
            with suppress(OSError):  # a full disk loses output and ends nothing
                self.log.write(stream, data)
            for watching in self._watching:
                _put(watching, (stream, data))
            await self._clock.sleep(self._clock.monotonic() - begun)

    async def _stop_when_told(self, process: Process) -> None:
        await self._told.wait()
        if self._seconds_left() > 0:
            await self._pre_stop()
            process.signal(signal.SIGTERM)
            least = moment_after(self._clock.now(), MINIMUM_GRACE_SECONDS)
            self._deadline = max(self._deadline or least, least)
            await self._deadline_passed()
        process.signal(signal.SIGKILL, group=True)

    async def _pre_stop(self) -> None:
        """The hook uses up the grace that the process has."""
        hook = self._hooks.get("preStop")
        if not hook:
            return
        hooking = asyncio.create_task(self._carry_out(hook))
        waiting = asyncio.create_task(self._deadline_passed())
        try:
            await asyncio.wait((hooking, waiting), return_when=asyncio.FIRST_COMPLETED)
            if not hooking.done() or hooking.result() is not None:
                self._tell("Warning", "FailedPreStopHook", "PreStopHook failed")
        finally:
            for task in (hooking, waiting):
                task.cancel()
            await asyncio.gather(hooking, waiting, return_exceptions=True)

    async def _deadline_passed(self) -> None:
        while (left := self._seconds_left()) > 0:
            self._hurry.clear()
            await _within(self._hurry, left)

    def _seconds_left(self) -> float:
        assert self._deadline is not None
        return (self._deadline - self._clock.now()).total_seconds()

    async def _carry_out(self, hook: Any) -> tuple[str, str] | None:
        """Why it failed, and what its command wrote; None where it went well."""
        try:
            if "exec" in hook:
                code, written = await self.call(hook["exec"].get("command") or ())
                return (hooks.exited(hook["exec"], code, written), written) if code else None
            if "httpGet" in hook:
                await actions.asked(self._machine.network, hook["httpGet"], self._fields)
            if "sleep" in hook:
                await self._clock.sleep(float(hook["sleep"].get("seconds") or 0))
        except CannotStart as error:
            return words.exec_failed(str(error)), ""
        except Unreachable as error:
            return str(error), ""
        return None

    async def _end_everything(self, found: World, process: Process) -> None:
        """Also when this process ends before its child has: that is asked, and then killed."""
        for session in list(self._sessions):
            self.end(session)
        process.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await process.wait()
        except TimeoutError:
            process.signal(signal.SIGKILL, group=True)
            await process.wait()
        process.close()
        await self._machine.processes.end_strays(found.root)
        with suppress(OSError):
            self.log.end()
        for watching in self._watching:
            _put(watching, None)

    # --- telling

    def _report_start(self, at: datetime) -> None:
        if not self._has_started:
            self._has_started = True
            self._report(Started(self._spec.name, at))

    def _checked(self, kind: Kind, outcome: Outcome, said: str) -> None:
        self._report(Checked(self._spec.name, self.run_id, kind, self._clock.now(), outcome, said))

    def _tell(self, event_type: str, reason: str, message: str) -> None:
        self._report(Told(self._spec.name, event_type, reason, message))

    def _message(self, file: Path, code: int) -> str:
        """What it has left for people, or the end of its log where the container asks for that."""
        content = b""
        with suppress(OSError):
            if file.is_file():  # nothing that blocks
                with file.open("rb") as opened:
                    content = opened.read(MAX_MESSAGE_BYTES)
        if not content and code and self._fields.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            content = self.log.last(MAX_LOG_LINES, MAX_LOG_BYTES)
        return content.decode("utf-8", "replace")


def _put(watching: Watching, piece: tuple[int, bytes] | None) -> None:
    if watching.full():
        watching.get_nowait()
    watching.put_nowait(piece)


async def _within(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
