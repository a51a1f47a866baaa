"""What is registered by one line in a visible tuple is registered: a file that nobody listed is dead code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, classes, functions, imported_modules, methods, named, tree

RESOURCES = ROOT / "apiserver" / "resources"


def test_every_admission_plugin_is_in_the_chain() -> None:
    """A module in plugins/ with a class that admits or validates is imported by the catalog."""
    plugins = [
        path
        for path in (ROOT / "apiserver" / "admission" / "plugins").glob("*.py")
        if any({"admit", "validate"} & methods(definition) for definition in classes(path))
    ]

    _assert_listed(plugins, ROOT / "apiserver" / "admission" / "catalog.py")


def test_every_control_loop_is_in_the_catalog() -> None:
    """A module or folder of controllers/ with an add_… function for a manager is imported by the catalog."""
    folder = ROOT / "controllers"
    entries = [path for path in folder.iterdir() if path.name not in ("scheduler", "catalog.py", "__pycache__")]
    loops = [
        entry
        for entry in entries
        if any(name.startswith("add_") for path in _modules(entry) for name in _manager_functions(path))
    ]

    assert len(loops) > 5
    _assert_listed(loops, folder / "catalog.py")


@pytest.mark.parametrize("catalog", ["strategies.py", "columns.py"])
def test_every_family_of_kinds_is_listed(catalog: str) -> None:
    """Each folder below apiserver/resources that holds kinds is imported by the tuple of strategies, of columns."""
    listed = imported_modules(RESOURCES / catalog)
    families = {path.parent.name for path in RESOURCES.glob("*/*.py") if _defines_a_strategy(path)}

    missing = [
        family for family in sorted(families) if not any(f"apiserver.resources.{family}" in name for name in listed)
    ]
    assert [] == missing


def test_every_strategy_is_listed() -> None:
    """A module that makes a kind's strategy is imported by strategies.py, or by another that is."""
    listed = imported_modules(RESOURCES / "strategies.py")
    made = {path for path in RESOURCES.glob("*/*.py") if _makes_a_strategy(path)}

    missing = sorted(named(path) for path in made if _dotted(path) not in listed)
    assert [] == missing


def _modules(entry: Path) -> list[Path]:
    return sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] if entry.suffix == ".py" else []


def _manager_functions(path: Path) -> list[str]:
    """Functions at the top of a module whose module knows the Manager they are for."""
    return functions(path) if "kubeloop.runtime.manager.Manager" in imported_modules(path) else []


def _defines_a_strategy(path: Path) -> bool:
    return any("Strategy" in base for definition in classes(path) for base in _bases(definition))


def _makes_a_strategy(path: Path) -> bool:
    """Whether a module has a constant, in capitals, that is an instance of a strategy class of its own."""
    own = {definition.name for definition in classes(path) if any("Strategy" in base for base in _bases(definition))}
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in own
        and all(isinstance(target, ast.Name) and target.id.isupper() for target in node.targets)
        for node in tree(path).body
    )


def _bases(definition: ast.ClassDef) -> list[str]:
    return [ast.unparse(base) for base in definition.bases]


def _assert_listed(paths: list[Path], catalog: Path) -> None:
    listed = imported_modules(catalog)
    assert [] == sorted(named(path) for path in paths if _dotted(path) not in listed)


def _dotted(path: Path) -> str:
    return named(path).removesuffix(".py").replace("/", ".")
