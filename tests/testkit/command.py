"""The installed command `kubeloop`, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.testkit.stack import ROOT

KUBELOOP = (sys.executable, "-m", "kubeloop.cli")


def kubeloop(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        [*KUBELOOP, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=cwd,
        env={**os.environ, **environment},
    )
