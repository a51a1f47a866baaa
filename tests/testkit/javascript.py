"""Runs the programs in tests/e2e/clients/javascript, each of which prints its answers as JSON, a line each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.testkit.client_tools import JAVASCRIPT, javascript_folder, node
from tests.testkit.stack import Kubectl, running

PROGRAM_SECONDS = 240


class JavaScript:
    """As whoever a kubectl is, in its namespace."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        self._folder = javascript_folder()
        self._added = {"KUBECONFIG": str(kubectl.kubeconfig), "NAMESPACE": kubectl.namespace}
        for program in JAVASCRIPT.glob("*.mjs"):
            shutil.copy(program, self._folder)  # modules are looked for from where a program is

    def __call__(self, program: str, *arguments: str) -> Any:
        """What `PROGRAM.mjs` answers. AssertionError with what it wrote where it fails."""
        done = subprocess.run(
            self._command(program, arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS,
            check=False,
            env={**os.environ, **self._added},
        )
        assert 0 == done.returncode, f"{program}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    @contextmanager
    def answers(self, program: str) -> Iterator[Iterator[Any]]:
        """Those of a program that goes on; it is ended afterwards."""
        command = self._command(program, ())
        with running(*command, environment=self._added, output=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield map(json.loads, process.stdout)

    def _command(self, program: str, arguments: tuple[str, ...]) -> list[str]:
        return [str(node()), str(self._folder / f"{program}.mjs"), *arguments]
