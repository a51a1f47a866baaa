"""`kubeloop stages`: the built-in sets of stages, listed, or one of them as the documents it is made of."""

from __future__ import annotations

import subprocess
import sys

from kubeloop.apimachinery.stage_sets import SETS
from kubeloop.cli.options import UsageError


def show(name: str) -> int:
    """The exit code. The documents belong to the nodes, so a process of theirs prints them."""
    if not name:
        width = max(map(len, SETS))
        for one, what in SETS.items():
            print(f"{one:{width}}  {what}")
        return 0
    if name not in SETS:
        raise UsageError(f"there is no set {name!r}: there are {', '.join(SETS)}")
    return subprocess.run([sys.executable, "-m", "kubelet_sim.stages", name], check=False).returncode
