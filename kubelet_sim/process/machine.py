"""What containers that really run need: a way to start processes, a directory, the network, a PATH."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

from kubelet_sim.process.actions import Network, Sockets
from kubelet_sim.process.processes import LocalProcesses, Processes


class InUse(Exception):
    """Another kubelet keeps its containers in this directory."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`root_dir`: absolute, and nobody else's. `path`: where commands are looked for, unless a container says it."""

    root_dir: Path
    path: str
    processes: Processes = field(default_factory=LocalProcesses)
    network: Network = field(default_factory=Sockets)


def own(root_dir: Path) -> None:
    """Make a directory private, and hold it until this process ends: two would end each other's containers.

    Raises InUse, OSError.
    """
    root_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    root_dir.chmod(0o700)
    descriptor = os.open(root_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InUse(f"another process keeps its containers in {root_dir}") from error
