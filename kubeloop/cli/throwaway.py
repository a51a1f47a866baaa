"""A stack to use once: a temporary data directory, a free port, a kubeconfig of its own. Nothing of it is left behind.

`kubeloop demo` and the end-to-end tests run on it; it is started and stopped by the code of `kubeloop up --detach`.
"""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kubeloop.cli.detached import start_detached
from kubeloop.cli.down import down
from kubeloop.cli.options import UpOptions
from kubeloop.cli.state import StackState


class ThrowAwayStack:
    """`options` says what the stack is like; its port, data directory and kubeconfig are set here."""

    def __init__(self, options: UpOptions | None = None) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kubeloop-"))
        self.options = replace(
            options or UpOptions(),
            port=free_port(),
            data_dir=self.directory / "data",
            kubeconfig=self.directory / "kubeconfig",
        )

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.remove()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.remove()

    async def start(self) -> None:
        """Return when the stack is ready. Raises UsageError or StartFailed."""
        await start_detached(self.options, _say_nothing)

    async def stop(self) -> None:
        await down(self.options.data_dir, _say_nothing)

    async def remove(self) -> None:
        """Stop it and delete its directory."""
        await self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def server(self) -> str:
        return self.options.server

    @property
    def kubeconfig(self) -> Path:
        return self.options.kubeconfig_path

    def state(self) -> StackState:
        state = StackState.load(self.options.data_dir)
        assert state is not None, "a stack that was started has a stack.json"
        return state

    def pid(self, name: str) -> int:
        """The process id of one of its processes; 0 while it is down."""
        return next(process.pid for process in self.state().processes if process.name == name)


def free_port() -> int:
    """A port nobody listens on, and which nobody is given who asks for any port while this process lives.

    On Linux a socket that is bound and does not listen is in nobody's way who asks for that very port, for as long
    as he may reuse addresses. Elsewhere somebody may be quicker than who is to listen there.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
        if sys.platform == "linux":
            probe.detach()  # stays open
        return port


def _say_nothing(_: str) -> None:
    pass
