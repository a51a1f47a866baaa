"""`kubeloop up --detach`: the same command as a process of its own, in the background."""

from __future__ import annotations

import os
import subprocess
import sys

from kubeloop.cli.display import Display
from kubeloop.cli.options import PROCESS, UpOptions
from kubeloop.cli.state import StackState
from kubeloop.cli.supervisor import Report, StartFailed
from kubeloop.cli.up import WARNING, prepare
from kubeloop.clock import SystemClock

SUPERVISOR_LOG = "supervisor.log"
POLL_SECONDS = 0.05


async def up_detached(options: UpOptions, display: Display) -> None:
    """Start the stack in the background and return when it is ready."""
    if options.runtime == PROCESS:
        display.note(WARNING)
    display.step("starting in the background")
    display.ready(options, await start_detached(options, display.note))


async def start_detached(options: UpOptions, report: Report) -> StackState:
    """Run `kubeloop up` in a session of its own until its stack is ready. Raises UsageError or StartFailed."""
    clock = SystemClock()
    await prepare(options, report, clock)
    process = _start(options)
    while True:
        state = StackState.load(options.data_dir)
        if state is not None and state.ready and state.supervisor.pid == process.pid:
            process.returncode = 0  # it lives on without us: Popen need not warn that nobody waits for it
            return state
        if process.poll() is not None:
            raise StartFailed(_last_words(options))
        await clock.sleep(POLL_SECONDS)


def _start(options: UpOptions) -> subprocess.Popen[bytes]:
    """Not asyncio's: that one kills its process when the event loop is closed."""
    command = [sys.executable, "-m", "kubeloop.cli", "up", *options.as_flags()]
    with (options.data_dir / SUPERVISOR_LOG).open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=_environment_without_settings(),
        )


def _environment_without_settings() -> dict[str, str]:
    """The flags say everything already."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KUBELOOP_")}
    return {**kept, "TERM": "dumb"}


def _last_words(options: UpOptions) -> str:
    lines = (options.data_dir / SUPERVISOR_LOG).read_text(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "the stack did not start").removeprefix("error: ")
