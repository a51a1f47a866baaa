"""`kubeloop down` and `kubeloop status`: what can be done with a stack from outside, through its stack.json."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubeloop.cli.options import UsageError
from kubeloop.cli.services import containers_dir
from kubeloop.cli.state import STOPPED, StackState, is_alive
from kubeloop.cli.supervisor import end_leftovers
from kubeloop.cli.target import started
from kubeloop.clock import SystemClock
from kubeloop.container_processes import end_processes_of

STOP_SECONDS = 120.0  # of the supervisor, which ends one process after the other
CONNECT_SECONDS = 1.0


async def down(data_dir: Path, report: Any) -> bool:
    """Stop the stack of a data directory; False where none ran."""
    clock = SystemClock()
    state = StackState.load(data_dir)
    if state is None:
        return False
    if not state.is_supervised:
        had_leftovers = any(is_alive(process) for process in state.processes)
        await end_leftovers(state, clock, report)
        return bool(end_processes_of(containers_dir(data_dir))) or had_leftovers
    os.kill(state.supervisor.pid, signal.SIGTERM)
    deadline = clock.monotonic() + STOP_SECONDS
    while is_alive(state.supervisor):
        if clock.monotonic() > deadline:
            raise UsageError(f"the supervisor (pid {state.supervisor.pid}) did not stop within {STOP_SECONDS:.0f} s")
        await clock.sleep(0.05)
    end_processes_of(containers_dir(data_dir))
    return True


def status(data_dir: Path) -> dict[str, Any]:
    """`{"server", "ready", "supervised", "processes": [{"name", "pid", "state", "restarts"}]}` as it is now.

    pid is 0 where a process does not run; `supervised`: somebody would start it again; `ready`: the stack has become
    ready, and somebody listens at the server's address, which is not so for a moment after the API server ended.
    """
    state = started(data_dir)
    processes = []
    for process in state.processes:
        alive = is_alive(process)
        processes.append(
            {
                "name": process.name,
                "pid": process.pid if alive else 0,
                "state": process.state if alive or process.state != "running" else STOPPED,
                "restarts": process.restarts,
            }
        )
    return {
        "server": state.server,
        "ready": state.ready and state.is_supervised and _listens(state.server),
        "supervised": state.is_supervised,
        "processes": processes,
    }


def _listens(server: str) -> bool:
    address = urlsplit(server)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
