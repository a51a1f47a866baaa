"""Calls the real helm, as `Kubectl` calls the real kubectl."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from kubeloop.cli.kubectl import environment_for
from tests.testkit.client_tools import helm
from tests.testkit.stack import Kubectl

HELM_SECONDS = 240


class HelmError(AssertionError):
    """helm refused, or what it did failed; the text is what it said."""


class Helm:
    """`helm("install web charts/web --wait")`, in the namespace of a kubectl; `cwd` is where charts are looked for."""

    def __init__(self, kubectl: Kubectl, cwd: Path, home: Path) -> None:
        self.kubectl, self._cwd = kubectl, cwd
        folders = {f"HELM_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA")}
        self._environment = {**environment_for(kubectl.kubeconfig), **folders}

    def __call__(self, arguments: str) -> str:
        """What it wrote to its standard output. Raises HelmError."""
        command = [str(helm()), f"--namespace={self.kubectl.namespace}", *arguments.split()]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HELM_SECONDS,
            check=False,
            cwd=self._cwd,
            env=self._environment,
        )
        if done.returncode:
            raise HelmError(f"helm {arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, arguments: str) -> Any:
        """The answer as an object."""
        return json.loads(self(f"{arguments} -o json"))

    def history(self, release: str) -> list[tuple[int, str, str]]:
        """(revision, status, description) of each, the oldest first."""
        return [(one["revision"], one["status"], one["description"]) for one in self.json(f"history {release}")]
