"""The source tree as text and syntax trees, for tests about the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("apiserver", "controllers", "examples", "kubelet_sim", "kubeloop")


def source_files() -> Iterator[Path]:
    """Every module of the installed packages, and of the examples."""
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def named(path: Path) -> str:
    """How a file is called in messages: its path from the root."""
    return path.relative_to(ROOT).as_posix()


def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports, and every name it imports from one, with dots."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def functions(path: Path) -> list[str]:
    """The functions at the top of a module."""
    return [node.name for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def classes(path: Path) -> list[ast.ClassDef]:
    return [node for node in tree(path).body if isinstance(node, ast.ClassDef)]


def methods(definition: ast.ClassDef) -> set[str]:
    return {node.name for node in definition.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
