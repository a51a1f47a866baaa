"""Finds and ends processes of containers that nobody looks after any more. Linux only.

Each process that `kubelet_sim --runtime=process` starts has its container's directory in the variable KUBELOOP_ROOT,
and hands it on to whatever it starts itself, in whichever session that is. So what a kubelet that was killed has left
is known by its environment, and no other process is meant by mistake: it is looked at once more through a descriptor
that belongs to that very process before it is killed.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

ROOT_VARIABLE = "KUBELOOP_ROOT"

_PROC = Path("/proc")


def is_supported() -> bool:
    return (_PROC / "self" / "environ").exists() and hasattr(os, "pidfd_open")


def end_processes_of(directory: Path) -> int:
    """Kill every process whose container has its root in this directory; how many there were."""
    if not is_supported():
        return 0
    mark = f"{ROOT_VARIABLE}={directory.resolve()}".encode()
    return sum(_end(int(entry.name), mark) for entry in _PROC.iterdir() if entry.name.isdecimal())


def _end(pid: int, mark: bytes) -> bool:
    if pid == os.getpid() or not _is_marked(pid, mark):
        return False
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        is_same = _is_marked(pid, mark)
        if is_same:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        return is_same
    finally:
        os.close(process)


def _is_marked(pid: int, mark: bytes) -> bool:
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(one == mark or one.startswith(mark + b"/") for one in variables)
