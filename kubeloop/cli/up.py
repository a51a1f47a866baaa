"""`kubeloop up`: the whole stack from nothing to ready, and down again on Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from kubeloop.apimachinery.conditions import is_true
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.resource import NODES
from kubeloop.cli.display import Display
from kubeloop.cli.kubeconfig_file import write_context
from kubeloop.cli.options import UpOptions, UsageError
from kubeloop.cli.services import secures, services, write_component_token
from kubeloop.cli.state import StackState, own_state
from kubeloop.cli.supervisor import StartFailed, Supervisor, end_leftovers
from kubeloop.client.api import Api
from kubeloop.clock import SystemClock

# How long the stack may take to become ready, before anybody would rather read its logs.
READY_SECONDS = 60.0
SUPERVISOR_LOG = "supervisor.log"


async def up(options: UpOptions, display: Display) -> None:
    """Run the stack until a signal ends it. UsageError or StartFailed where it cannot start."""
    options.check()
    clock = SystemClock()
    _make_data_dir(options.data_dir)
    await _take_over(options, display, clock)
    token_file = write_component_token(options.data_dir)
    state = StackState(options.server, own_state("supervisor"), kubeconfig=str(options.kubeconfig_path))
    supervisor = Supervisor(services(options, token_file), options.data_dir, state, clock)
    _on_signals(supervisor)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(supervisor, display))
        token = token_file.read_text() if secures(options) else ""
        begun = tasks.create_task(_become_ready(options, supervisor, state, display, clock, token))
        running.add_done_callback(lambda _: begun.cancel())


async def _run(supervisor: Supervisor, display: Display) -> None:
    await supervisor.run()
    display.stopped()


async def _become_ready(
    options: UpOptions, supervisor: Supervisor, state: StackState, display: Display, clock: SystemClock, token: str
) -> None:
    async with Api(options.server, token=token, user_agent="kubeloop") as api:
        await _wait_for_server(api, display, clock)
        await write_context(options.kubeconfig_path, options.server, token, clock)
        await _wait_for_nodes(api, options.nodes, display, clock)
    supervisor.ready()
    display.ready(options, state)


async def _wait_for_server(api: Api, display: Display, clock: SystemClock) -> None:
    display.step("starting the API server")
    deadline = clock.monotonic() + READY_SECONDS
    while True:
        try:
            await api.request("GET", "/readyz")
            return
        except ApiError as error:
            if clock.monotonic() > deadline:
                raise StartFailed(f"the API server did not become ready: {error.message}") from error
        await clock.sleep(0.05)


async def _wait_for_nodes(api: Api, wanted: int, display: Display, clock: SystemClock) -> None:
    """Until all nodes are Ready; shows how many are."""
    deadline = clock.monotonic() + READY_SECONDS + wanted / 10
    ready = -1
    while ready < wanted:
        nodes = (await api.list(NODES))["items"]
        now_ready = sum(is_true(node.get("status", {}).get("conditions") or [], "Ready") for node in nodes)
        if now_ready != ready:
            ready = now_ready
            display.step(f"nodes ready: {min(ready, wanted)} of {wanted}")
        if ready < wanted:
            if clock.monotonic() > deadline:
                raise StartFailed(f"only {ready} of {wanted} nodes became ready; see kubelet-sim.log")
            await clock.sleep(0.05)


def _make_data_dir(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        probe = data_dir / ".write-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to the data directory {data_dir}: {error.strerror}") from error


async def _take_over(options: UpOptions, display: Display, clock: SystemClock) -> None:
    """Nobody else may run a stack on this data; what a killed supervisor left behind is ended."""
    state = StackState.load(options.data_dir)
    if state is None:
        return
    if state.is_supervised:
        raise UsageError(
            f"a stack already runs on {options.data_dir} (pid {state.supervisor.pid}, {state.server}); "
            f"`kubeloop down --data-dir {options.data_dir}` stops it"
        )
    await end_leftovers(state, clock, display.note)


def _on_signals(supervisor: Supervisor) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, supervisor.stop)


async def up_detached(options: UpOptions, display: Display, arguments: list[str]) -> None:
    """Start `kubeloop up` in the background and return when its stack is ready."""
    options.check()
    _make_data_dir(options.data_dir)
    log = options.data_dir / SUPERVISOR_LOG
    clock = SystemClock()
    await _take_over(options, display, clock)
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kubeloop.cli",
            "up",
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "TERM": "dumb"},
        )
    ended = asyncio.ensure_future(process.wait())
    display.step("starting in the background")
    while True:
        state = StackState.load(options.data_dir)
        if state is not None and state.ready and state.supervisor.pid == process.pid:
            ended.cancel()
            display.ready(options, state)
            return
        if ended.done():
            words = log.read_text(errors="replace").strip().splitlines()
            raise StartFailed((words[-1] if words else "the stack did not start").removeprefix("error: "))
        await clock.sleep(0.05)
