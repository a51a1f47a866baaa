"""Which stack or cluster a command is about: `--data-dir` names a stack of this machine, `--kubeconfig` a cluster.

Each leads to the other: stack.json names the kubeconfig that `kubeloop up` has written, and the context there says
where the stack's state is. Without a flag, who asks about a stack means the one on ./.kubeloop, and who asks a cluster
means the one that kubectl speaks to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kubeloop.cli.kubeconfig_file import NAME, data_dir_of
from kubeloop.cli.options import DEFAULT_DATA_DIR, UsageError
from kubeloop.cli.state import StackState
from kubeloop.client import kubeconfig
from kubeloop.client.kubeconfig import Connection, KubeconfigError


@dataclass(frozen=True, slots=True)
class Cluster:
    """A context of a kubeconfig; "" is kubectl's choice."""

    kubeconfig: str = ""
    context: str = ""

    def connection(self) -> Connection:
        """Raises KubeconfigError."""
        return kubeconfig.load(kubeconfig.paths(self.kubeconfig, os.environ), self.context)

    def data_dir(self) -> Path | None:
        """Of the stack that serves it, if that is one of this machine; None also without a kubeconfig, as in a pod."""
        try:
            return _stack_behind(self.connection())
        except KubeconfigError:
            return None


@dataclass(frozen=True, slots=True)
class Target:
    """What a command was told. With both, the two have to lead to the same stack."""

    data_dir: Path | None = None
    kubeconfig: Path | None = None

    def directory(self) -> Path:
        """The data directory of the stack. Raises UsageError or KubeconfigError."""
        if self.kubeconfig is None:
            return self.data_dir or DEFAULT_DATA_DIR
        found = _stack_behind(Cluster(str(self.kubeconfig)).connection())
        if found is None:
            raise UsageError(
                f"the current context of {self.kubeconfig} is of no stack on this machine; name the stack by --data-dir"
            )
        if self.data_dir is not None and self.data_dir.resolve() != found:
            raise UsageError(f"{self.kubeconfig} leads to the stack on {found}, not to that on {self.data_dir}")
        return found

    def cluster(self) -> Cluster:
        """Whom to ask. Raises UsageError or KubeconfigError."""
        if self.data_dir is None:
            return Cluster(str(self.kubeconfig or ""))
        directory = self.directory()
        state = started(directory)
        cluster = Cluster(state.kubeconfig, NAME)
        if cluster.connection().server != state.server:
            raise UsageError(
                f"the context {NAME} of {state.kubeconfig} is no longer that of the stack on {directory} "
                f"({state.server}); start it anew with a --kubeconfig of its own"
            )
        return cluster


def _stack_behind(connection: Connection) -> Path | None:
    found = data_dir_of(connection)
    return found if found is not None and found.is_dir() else None


def started(directory: Path) -> StackState:
    """The stack that was last seen there. UsageError where none was."""
    state = StackState.load(directory)
    if state is None:
        raise UsageError(f"no stack was ever started on {directory} (see --data-dir)")
    return state
