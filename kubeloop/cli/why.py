"""`kubeloop why`: the scheduler explains itself, as a process of its own like every part of the stack."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from kubeloop.cli.target import Cluster


def why(pod: str, namespace: str, output: str, cluster: Cluster, scheduler_args: Sequence[str]) -> int:
    """The exit code; what is said goes straight to this process' output."""
    command = [sys.executable, "-m", "controllers.scheduler.why", pod, f"--namespace={namespace}", f"--output={output}"]
    command += [f"--kubeconfig={cluster.kubeconfig}", f"--context={cluster.context}", *scheduler_args]
    return subprocess.run(command, check=False).returncode
