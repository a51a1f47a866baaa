"""stack.json in the data directory: what `kubeloop status` and `kubeloop down` know of a running stack.

The supervisor writes it whenever something changes, always as a whole (rename), so readers never see half of it.
A process is told from a later one with the same pid by the time it started.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kubeloop.apimachinery.clock import Clock
from kubeloop.cli.options import UsageError

FILE = "stack.json"
LOOK_AGAIN_SECONDS = 0.1

STARTING, RUNNING, RESTARTING, STOPPED = "starting", "running", "restarting", "stopped"


@dataclass(slots=True)
class ProcessState:
    """One service as the supervisor sees it; pid 0 means that it does not run."""

    name: str
    pid: int = 0
    state: str = STOPPED
    restarts: int = 0
    started: str = ""  # the process's start time as the operating system tells it


@dataclass(slots=True)
class StackState:
    """A stack: where it listens, who supervises it, what runs."""

    server: str
    supervisor: ProcessState
    ready: bool = False
    kubeconfig: str = ""
    nodes: int = 0  # how many there were when it became ready
    processes: list[ProcessState] = field(default_factory=list)

    def save(self, data_dir: Path) -> None:
        temporary = data_dir / f"{FILE}.new"
        temporary.write_text(json.dumps(asdict(self), indent=2))
        temporary.replace(data_dir / FILE)

    @classmethod
    def load(cls, data_dir: Path) -> StackState | None:
        """The stack last seen in a data directory, or None where there was none."""
        try:
            saved: dict[str, Any] = json.loads((data_dir / FILE).read_text())
            supervisor = ProcessState(**saved.pop("supervisor"))
            processes = [ProcessState(**process) for process in saved.pop("processes")]
            return cls(supervisor=supervisor, processes=processes, **saved)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{data_dir / FILE} is not of this version of kubeloop ({error}); remove it if no stack runs"
            ) from error

    @property
    def is_supervised(self) -> bool:
        return is_alive(self.supervisor)


@contextmanager
def only_supervisor(data_dir: Path) -> Iterator[None]:
    """Hold the data directory as its one supervisor; UsageError where there is another, or one just starting."""
    with _lock_file(data_dir / "supervisor.lock") as is_ours:
        if not is_ours():
            raise UsageError(f"a stack already runs on {data_dir}; `kubeloop down --data-dir {data_dir}` stops it")
        yield


@asynccontextmanager
async def one_at_a_time(data_dir: Path, what: str, clock: Clock, tell: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold the stack for a command; wait for another one of the same that is at work, which is told."""
    with _lock_file(data_dir / f"{what}.lock") as is_ours:
        if not is_ours():
            tell(f"another `kubeloop {what}` is at work on this stack: waiting for it")
            while not is_ours():
                await clock.sleep(LOOK_AGAIN_SECONDS)
        yield


@contextmanager
def _lock_file(path: Path) -> Iterator[Callable[[], bool]]:
    """Hands out the attempt to get it. The lock is the operating system's and ends with the process: a killed one
    leaves none behind.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_ours() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        yield is_ours
    finally:
        os.close(descriptor)


def is_alive(process: ProcessState) -> bool:
    """Whether this very process still runs, and not another that got its pid."""
    return process.pid > 0 and bool(process.started) and start_time(process.pid) == process.started


def start_time(pid: int) -> str:
    """When a process started, in whatever form the system has it; "" where it does not run.

    Its first thread may have ended when others, which write to a disk, still hold its ports and locks: then it runs.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return _start_time_from_ps(pid) if not Path("/proc/self").exists() else ""
    state, number_of_threads, started = fields[0], int(fields[17]), fields[19]
    return "" if state == "Z" and number_of_threads <= 1 else started


def _start_time_from_ps(pid: int) -> str:
    """The same where there is no /proc."""
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()


def own_state(name: str) -> ProcessState:
    pid = os.getpid()
    return ProcessState(name, pid, RUNNING, started=start_time(pid))
