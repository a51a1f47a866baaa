"""What the README and the pages of clients tell people to type, typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubeloop.cli.throwaway import free_port
from tests.e2e.clients.table import CLIENTS, Client
from tests.testkit.pages import blocks, readme_snippets, run, section
from tests.testkit.stack import ROOT, Stack

pytestmark = pytest.mark.e2e

ANY_PORT = 'local_port="auto"'  # kr8s tries one, once, and is out of luck where others have it


def test_every_command_of_the_kubectl_tour_works(stack: Stack) -> None:
    """The kubectl section runs from top to bottom without an error."""
    done = run(_commands("With kubectl"), "bash", stack)

    assert 'deployment.apps "web" deleted' in done.stdout
    assert 'deployment "web" successfully rolled out' in done.stdout


def test_the_curl_tour_creates_lists_watches_and_is_refused(stack: Stack) -> None:
    """Each curl answers what the README says of it."""
    done = run(_commands("With curl"), "bash", stack)

    created, listed, patched, event, refused, deleted = _answers(done.stdout)
    assert {"colour": "red"} == created["data"]
    assert "settings" in [item["metadata"]["name"] for item in listed["items"]]
    assert ("MODIFIED", patched) == (event["type"], _without_kind(event["object"], patched))
    assert (409, "Conflict") == (refused["code"], refused["reason"])
    assert "Success" == deleted["status"]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_every_client_is_used_as_the_readme_says(stack: Stack, client: Client) -> None:
    """The snippet beneath its name runs as it stands."""
    language, script = readme_snippets()[client.name]

    run(script, language, stack, cwd=_folder(client) or ROOT, program=_program(client))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_every_page_of_a_client_runs_from_top_to_bottom(stack: Stack, client: Client, tmp_path: Path) -> None:
    """docs/clients: the blocks in the language of the README's snippet, one after the other."""
    language, _ = readme_snippets()[client.name]
    page = (ROOT / "docs" / "clients" / f"{client.page}.md").read_text()
    page = page.replace(ANY_PORT, f"local_port={free_port()}")

    run("\n".join(blocks(page, language)), language, stack, cwd=_folder(client) or tmp_path, program=_program(client))


def _folder(client: Client) -> Path | None:
    return client.folder() if client.folder else None


def _program(client: Client) -> Path | None:
    return client.program() if client.program else None


def _commands(heading: str) -> str:
    """The bash blocks of one section, one after the other."""
    return "\n".join(blocks(section(ROOT / "README.md", heading), "bash"))


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
