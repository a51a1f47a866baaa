"""The table of clients in docs/compatibility.md, from the marks of the tests: `python -m tests.e2e.clients.table`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.testkit.client_tools import JAVASCRIPT, helm, javascript_folder, node
from tests.testkit.stack import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
TOOLS = Path(__file__).with_name("tools.txt")
BEGIN = "<!-- clients: written by python -m tests.e2e.clients.table -->"
END = "<!-- end of clients -->"
HEAD = "| client | in | version | what is tried |\n| --- | --- | --- | --- |"


@dataclass(frozen=True, slots=True)
class Client:
    """A row. `name` is also that in the marks; its page is `docs/clients/PAGE.md`.

    `program` is found by its snippets, which run in `folder` where they have to find a library from there; both are
    functions, which skip a test where there is no such thing.
    """

    name: str
    language: str
    version: str
    page: str
    program: Callable[[], Path] | None = None
    folder: Callable[[], Path] | None = None


@dataclass(frozen=True, slots=True)
class ClientTest:
    """A test function, and what its mark says: both "" where there is none."""

    name: str
    client: str
    tried: str


def pinned(package: str) -> str:
    """The version of a Python package that the tests run with."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    return next(version for name, _, version in (pin.partition("==") for pin in pins) if name == package)


def tool(name: str) -> str:
    """The version of a program that is inside one of the packages in `tools.txt`."""
    return re.findall(rf"# {name} (\S+)$", TOOLS.read_text(), flags=re.MULTILINE)[0]


def locked(package: str) -> str:
    """The version of a package from npm."""
    packages = json.loads((JAVASCRIPT / "package-lock.json").read_text())["packages"]
    return str(packages[f"node_modules/{package}"]["version"])


CLIENTS = (
    Client("Helm", "Go", tool("helm"), page="helm", program=helm),
    Client("kubernetes", "Python", pinned("kubernetes"), page="kubernetes"),
    Client("kubernetes-asyncio", "Python", pinned("kubernetes_asyncio"), page="kubernetes-asyncio"),
    Client("kr8s", "Python", pinned("kr8s"), page="kr8s"),
    Client("lightkube", "Python", pinned("lightkube"), page="lightkube"),
    Client("pykube-ng", "Python", pinned("pykube-ng"), page="pykube-ng"),
    Client("kopf", "Python", pinned("kopf"), page="kopf"),
    Client(
        "@kubernetes/client-node",
        "JavaScript",
        locked("@kubernetes/client-node"),
        page="javascript",
        program=node,
        folder=javascript_folder,
    ),
)


def marked_tests() -> Iterator[ClientTest]:
    """Those of this folder, file by file. They are read, not imported: no client need be installed."""
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for definition in ast.parse(file.read_text()).body:
            if isinstance(definition, ast.FunctionDef) and definition.name.startswith("test_"):
                client, tried = _mark(definition)
                yield ClientTest(f"{file.name}::{definition.name}", client, tried)


def table() -> str:
    """A row for each of CLIENTS. Raises KeyError where a mark names another one."""
    tried: dict[str, list[str]] = {client.name: [] for client in CLIENTS}
    for test in marked_tests():
        if test.client:
            tried[test.client].append(test.tried)
    return "\n".join((HEAD, *(_row(client, tried[client.name]) for client in CLIENTS)))


def with_table(page: str) -> str:
    """The page as it should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def _row(client: Client, tried: list[str]) -> str:
    name = f"[{client.name}](clients/{client.page}.md)"
    return f"| {name} | {client.language} | {client.version} | {'; '.join(tried)} |"


def _mark(test: ast.FunctionDef) -> tuple[str, str]:
    """(client, tried) of its `@pytest.mark.client(client, tried)`."""
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.client":
            client, tried = map(ast.literal_eval, decorator.args)
            return client, tried
    return "", ""


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
