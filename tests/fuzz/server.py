"""The server under fire: a real process, its log, its memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from kubeloop.cli.throwaway import free_port
from tests.testkit.eventually import eventually
from tests.testkit.stack import ROOT, is_ready

TOKENS = 'admintoken,admin,admin-uid,"system:masters"\nalicetoken,alice,alice-uid,"devs"\n'


class ServerProcess:
    """An API server on SQLite in `directory`, with authentication and RBAC."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        self._log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        (directory / "tokens.csv").write_text(TOKENS)

    def start(self) -> None:
        """Returns when it is ready."""
        flags = (
            f"--port={self.port}",
            f"--data-dir={self._directory}/data",
            f"--token-auth-file={self._directory}/tokens.csv",
        )
        with self._log.open("ab") as log:
            command = (sys.executable, "-m", "apiserver", *flags)
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
        eventually(
            lambda: is_ready(f"http://127.0.0.1:{self.port}"), "the API server becomes ready", within_seconds=120
        )

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(120)

    def stop(self) -> None:
        """Asked to end, as a supervisor does."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(120)

    def peak_mib(self) -> int:
        """The most memory it ever had."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def complaints(self) -> str:
        """The log from the first exception on; "" where it has none."""
        text = self._log.read_text(errors="replace")
        at = text.find("Traceback")
        return text[max(0, at - 300) : at + 12000] if at >= 0 else ""
