"""What the README tells people to type, typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

import pytest

from kubeloop.cli.programs import find_kubectl
from tests.testkit.stack import ROOT, Stack

pytestmark = pytest.mark.e2e


def test_every_command_of_the_kubectl_tour_works(stack: Stack) -> None:
    """The kubectl section runs from top to bottom without an error."""
    kubectl = find_kubectl()
    assert kubectl is not None

    done = _run(_commands("With kubectl"), stack, PATH=f"{kubectl.parent}:{os.environ['PATH']}")

    assert 'deployment.apps "web" deleted' in done.stdout
    assert 'deployment "web" successfully rolled out' in done.stdout


def test_the_curl_tour_creates_lists_watches_and_is_refused(stack: Stack) -> None:
    """Each curl answers what the README says of it."""
    done = _run(_commands("With curl"), stack)

    created, listed, patched, event, refused, deleted = _answers(done.stdout)
    assert {"colour": "red"} == created["data"]
    assert "settings" in [item["metadata"]["name"] for item in listed["items"]]
    assert ("MODIFIED", patched) == (event["type"], _without_kind(event["object"], patched))
    assert (409, "Conflict") == (refused["code"], refused["reason"])
    assert "Success" == deleted["status"]


def _commands(heading: str) -> str:
    """The bash blocks of one section, one after the other."""
    sections = re.split(r"^## ", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    section = next(section for section in sections if section.startswith(heading))
    return "\n".join(re.findall(r"```bash\n(.*?)```", section, flags=re.DOTALL))


def _run(script: str, stack: Stack, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("http://127.0.0.1:8001", stack.server)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(stack.kubectl.kubeconfig), **environment},
    )
    assert 0 == done.returncode, done.stderr
    return done


def _answers(text: str) -> list[dict[str, Any]]:
    """JSON documents that stand one after the other."""
    decoder, answers = json.JSONDecoder(), []
    while text := text.strip():
        answer, end = decoder.raw_decode(text)
        answers.append(answer)
        text = text[end:]
    return answers


def _without_kind(obj: object, other: dict[str, Any]) -> object:
    """An event's object names its kind, as does the answer of a patch."""
    assert isinstance(obj, dict)
    return {key: obj[key] for key in other}
