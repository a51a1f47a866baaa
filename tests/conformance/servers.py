"""What the recordings are played against: a stack set up as the recorded cluster was, and an API server alone."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kubeloop.cli.options import UpOptions
from kubeloop.cli.programs import find_kubectl
from tests.conformance import playing, truth
from tests.testkit.stack import Stack, api_server_alone

RECORDINGS = Path(__file__).with_name("recordings")
TOKEN = "admintoken"
TOKENS = """\
admintoken,admin,admin-uid,"system:masters"
alicetoken,alice,alice-uid,"devs"
bobtoken,bob,bob-uid,""
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """One file. `alone`: made without any loop. `serial`: changes the nodes, so nothing else may run meanwhile."""

    path: Path
    alone: bool
    serial: bool

    @classmethod
    def read(cls, path: Path) -> Recording:
        lines = path.read_text().splitlines()
        return cls(path, "alone: true" in lines, "serial: true" in lines)

    @property
    def area(self) -> str:
        return self.path.parent.name

    @property
    def name(self) -> str:
        return f"{self.area}/{self.path.stem}"


def recordings(areas: list[str] | None = None) -> list[Recording]:
    """All recordings, or those of some areas; the serial ones last."""
    paths = sorted(RECORDINGS.glob("*/*.yaml"))
    found = [Recording.read(path) for path in paths if areas is None or path.parent.name in areas]
    return sorted(found, key=lambda recording: recording.serial)


class Servers:
    """Plays recordings: each on the kind of server it was made on."""

    def __init__(self, stack: str, alone: str) -> None:
        self._stack, self._alone = _target(stack), _target(alone)

    def play(self, recording: Recording) -> list[str]:
        """What differs; nothing where all is as recorded."""
        return playing.play(self._alone if recording.alone else self._stack, recording.path)

    def leftovers(self) -> list[str]:
        """The namespaces of recordings that were played on the stack and are not gone yet."""
        items = self._stack.send("GET", "/api/v1/namespaces").json()["items"]
        return [name for item in items if (name := item["metadata"]["name"]).startswith("truth-")]

    def close(self) -> None:
        for target in (self._stack, self._alone):
            target.http.close()


@contextmanager
def servers() -> Iterator[Servers]:
    """Nodes, tokens and authorization as recorded."""
    with TemporaryDirectory() as directory:
        tokens = Path(directory) / "tokens.csv"
        tokens.write_text(TOKENS)
        flags = (f"--token-auth-file={tokens}", "--authorization-mode=RBAC")
        kubectl_is_admin = "--insecure-kubectl-user=admin"
        options = UpOptions(
            node_cpu="1",
            node_memory="3840Mi",
            node_ephemeral_storage="0",
            apiserver_args=(*flags, kubectl_is_admin),
        )
        with Stack(options, TOKEN) as stack, api_server_alone(*flags, kubectl_is_admin) as alone:
            running = Servers(stack.server, alone)
            try:
                yield running
            finally:
                running.close()


def _target(server: str) -> Any:
    return truth.Target(argparse.Namespace(server=server, token=TOKEN, kubectl=str(find_kubectl())))
