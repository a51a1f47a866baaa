"""`kubeloop why`: the scheduler explains itself, as a process of its own like every part of the stack."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def why(pod: str, namespace: str, output: str, kubeconfig: Path | None, scheduler_args: Sequence[str]) -> int:
    """The exit code; what is said goes straight to this process' output."""
    command = [sys.executable, "-m", "controllers.scheduler.why", pod, f"--namespace={namespace}", f"--output={output}"]
    if kubeconfig is not None:
        command.append(f"--kubeconfig={kubeconfig}")
    command += scheduler_args
    return subprocess.run(command, check=False).returncode
