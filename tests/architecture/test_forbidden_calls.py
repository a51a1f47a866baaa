"""Time, chance, identifiers and the network come through constructors: no module takes them for itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import named, source_files, tree

# Calls by their dotted names; a trailing dot forbids all functions of a module.
FORBIDDEN = (
    "time.time",
    "time.monotonic",
    "time.perf_counter",
    "time.sleep",
    "asyncio.sleep",
    "datetime.now",
    "datetime.utcnow",
    "datetime.datetime.now",
    "uuid.uuid4",
    "uuid4",
    "random.",
    "httpx.AsyncClient",
)
# Who may, and why.
ALLOWED = {
    "kubeloop/clock.py": "is the clock",
    "kubeloop/logs.py": "stamps lines of a process's own log",
    "kubeloop/testing/virtual_time.py": "is the other clock",
    "kubeloop/client/transport.py": "is the network: the only place with an httpx.AsyncClient",
}
# Where a process begins, chance is made once and handed on.
MAINS = {
    "apiserver/main.py",
    "kubeloop/runtime/process.py",
    "kubeloop/cli/main.py",
    "kubeloop/cli/up.py",
    "examples/operators/certificate/__main__.py",
}


def test_nobody_takes_time_or_chance_for_himself() -> None:
    """Every such call is in one of the few files that may make it."""
    found = [
        f"{named(path)}:{node.lineno} {name}"
        for path in source_files()
        if named(path) not in ALLOWED
        for node, name in _calls(tree(path))
        if _is_forbidden(node, name, named(path))
    ]

    assert [] == found


@pytest.mark.parametrize("path", [*ALLOWED, *sorted(MAINS)])
def test_those_who_may_exist(path: str) -> None:
    """An exception for a file that is gone would hide its successor."""
    assert path in {named(file) for file in source_files()}


def _calls(module: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            yield node, ast.unparse(node.func)


def _is_forbidden(node: ast.Call, name: str, path: str) -> bool:
    if name in ("random.Random", "random.SystemRandom"):
        return not node.args and path not in MAINS  # without a seed it is chance itself
    if name == "asyncio.sleep":
        return not _gives_way_only(node)
    return any(name.startswith(word) if word.endswith(".") else name == word for word in FORBIDDEN)


def _gives_way_only(node: ast.Call) -> bool:
    """asyncio.sleep(0) lets other tasks run; no time passes."""
    return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
