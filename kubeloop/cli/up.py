"""`kubeloop up`: the whole stack from nothing to ready, and down again on Ctrl-C."""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import tempfile
from pathlib import Path

from kubeloop.apimachinery.clock import Clock
from kubeloop.cli.display import Display
from kubeloop.cli.kubeconfig_file import Login, write_context
from kubeloop.cli.leftovers import remove_left_metrics_server
from kubeloop.cli.options import PROCESS, UpOptions, UsageError
from kubeloop.cli.readiness import nodes_asked_for, wait_for_metrics, wait_for_nodes, wait_for_server
from kubeloop.cli.secure import secure
from kubeloop.cli.services import secures, services, write_component_token
from kubeloop.cli.state import StackState, only_supervisor, own_state
from kubeloop.cli.supervisor import Report, Supervisor, end_leftovers
from kubeloop.clock import SystemClock

# A stack writes about 3 MB before it is ready; with less room than this it would end in a half-written log.
NEEDED_BYTES = 8 * 1024 * 1024

WARNING = (
    "--runtime=process: whoever can create pods in this cluster runs programs on this machine as you, without a "
    "sandbox; unless the server asks who is calling (--secure), that is every user of this machine"
)


async def up(options: UpOptions, display: Display) -> None:
    """Run the stack until a signal ends it. UsageError or StartFailed where it cannot start."""
    options.check()
    _make_data_dir(options.data_dir)
    with only_supervisor(options.data_dir):
        await _up(options, display, SystemClock())


async def _up(options: UpOptions, display: Display, clock: Clock) -> None:
    await prepare(options, display.note, clock)
    token_file = write_component_token(options.data_dir)
    secured = secure(options, clock.now()) if options.secure else None
    state = StackState(options.server, own_state("supervisor"), kubeconfig=str(options.kubeconfig_path.absolute()))
    started = services(options, token_file, secured)
    supervisor = Supervisor(started, options.data_dir, state, clock, display.step)
    _on_signals(supervisor)
    if options.runtime == PROCESS:
        display.note(WARNING)
    display.step("starting " + ", ".join(service.name for service in started))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(supervisor, display))
        login = secured.admin if secured else Login(options.server, token_file.read_text() if secures(options) else "")
        begun = tasks.create_task(_become_ready(options, supervisor, state, display, clock, login))
        running.add_done_callback(lambda _: begun.cancel())


async def prepare(options: UpOptions, report: Report, clock: Clock) -> None:
    """Everything that can be refused before a process is started."""
    options.check()
    _make_data_dir(options.data_dir)
    await _take_over(options, report, clock)
    _check_port(options)


async def _run(supervisor: Supervisor, display: Display) -> None:
    await supervisor.run()
    display.stopped()


async def _become_ready(
    options: UpOptions, supervisor: Supervisor, state: StackState, display: Display, clock: Clock, login: Login
) -> None:
    async with login.connect() as api:
        await wait_for_server(api, clock)
        display.step(f"the API server is ready on {options.server}")
        await write_context(options.kubeconfig_path, login, options.data_dir, clock)
        if not options.metrics_server:
            await remove_left_metrics_server(api)
        wanted = state.nodes = await nodes_asked_for(api, options.nodes, display.step)

        def report(ready: int) -> None:
            display.step(f"nodes ready: {min(ready, wanted)} of {wanted}")

        await wait_for_nodes(api, wanted, report, clock, random.Random())
        if options.metrics_server:
            await wait_for_metrics(api, clock)
    supervisor.ready()
    display.ready(options, state)


def _make_data_dir(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir) as probe:
            probe.write(bytes(NEEDED_BYTES))
    except OSError as error:
        raise UsageError(f"cannot write to the data directory {data_dir}: {error.strerror}") from error


async def _take_over(options: UpOptions, report: Report, clock: Clock) -> None:
    """Nobody else may run a stack on this data; what a killed supervisor left behind is ended."""
    state = StackState.load(options.data_dir)
    if state is None:
        return
    if state.is_supervised:
        raise UsageError(
            f"a stack already runs on {options.data_dir} (pid {state.supervisor.pid}, {state.server}); "
            f"`kubeloop down --data-dir {options.data_dir}` stops it"
        )
    await end_leftovers(state, clock, report)


def _check_port(options: UpOptions) -> None:
    """Said before anything starts, instead of by the API server's last words."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", options.port))
        except OSError as error:
            raise UsageError(f"cannot listen on 127.0.0.1:{options.port}: {error.strerror} (see --port)") from error


def _on_signals(supervisor: Supervisor) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, supervisor.stop)
