"""What the pages of the documentation tell people to type, for tests that type it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kubeloop.cli.kubectl import environment_for
from kubeloop.cli.programs import find_kubectl
from tests.testkit.stack import ROOT, Stack

SCRIPT_SECONDS = 240
DEFAULT_SERVER = "http://127.0.0.1:8001"
RUN_BY = {
    "bash": ("bash", "-euo", "pipefail", "-c"),
    "javascript": ("node", "--input-type=module", "--eval"),
    "python": (sys.executable, "-c"),
}


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of that language, in their order."""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def section(page: Path, heading: str) -> str:
    """What stands below `## heading`, up to the next heading of that level."""
    sections = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    return next(text for text in sections if text.startswith(heading))


def readme_snippets() -> dict[str, tuple[str, str]]:
    """(language, script) of each client in "Use it from …"."""
    text = section(ROOT / "README.md", "Use it from")
    found = re.findall(r"^\*\*\[(.+?)\].*?```(\w+)\n(.*?)```", text, flags=re.MULTILINE | re.DOTALL)
    return {client: (language, script) for client, language, script in found}


def run(
    script: str, language: str, stack: Stack, cwd: Path = ROOT, program: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A script of a page, as its reader would run it: the kubeconfig and the programs are where they are looked for.

    `program` is one that does not come with the environment.

    Raises AssertionError with what it wrote when it fails.
    """
    done = subprocess.run(
        [*RUN_BY[language], script.replace(DEFAULT_SERVER, stack.server)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SCRIPT_SECONDS,
        check=False,
        cwd=cwd,
        env={**environment_for(stack.kubectl.kubeconfig), "PATH": search_path(program)},
    )
    assert 0 == done.returncode, f"{script}\n{done.stdout}{done.stderr}"
    return done


def search_path(program: Path | None = None) -> str:
    """PATH with the programs of the environment that runs the tests, kubectl among them, before all others."""
    kubectl = find_kubectl()
    assert kubectl is not None
    folders = [Path(sys.executable).parent, kubectl.parent, *([program.parent] if program else [])]
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])
