"""What is registered by one line in a visible tuple is registered: a file that nobody listed is dead code."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from apiserver.registry.strategy import Strategy
from apiserver.resources.strategies import STRATEGIES
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


def test_every_strategy_is_listed() -> None:
    """A strategy that a module below apiserver/resources makes stands in STRATEGIES, not only in its file."""
    made = [
        (f"{module.__name__}.{name}", strategy)
        for module in _resource_modules()
        for name, strategy in vars(module).items()
        if isinstance(strategy, Strategy) and name in _assigned(module)
    ]

    assert len(made) > 40
    assert [] == [name for name, strategy in made if strategy not in STRATEGIES.values()]


def test_every_family_has_its_columns_listed() -> None:
    """Each folder with a columns.py is imported by the tuple of all columns."""
    _assert_listed(list(RESOURCES.glob("*/columns.py")), RESOURCES / "columns.py")


def _resource_modules() -> Iterator[ModuleType]:
    for path in sorted(RESOURCES.glob("*/*.py")):
        yield importlib.import_module(_dotted(path).removesuffix(".__init__"))


def _assigned(module: ModuleType) -> set[str]:
    """The names that a module itself gives to something."""
    nodes = tree(Path(str(module.__file__))).body
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _modules(entry: Path) -> list[Path]:
    return sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] if entry.suffix == ".py" else []


def _manager_functions(path: Path) -> list[str]:
    """Functions at the top of a module whose module knows the Manager they are for."""
    return functions(path) if "kubeloop.runtime.manager.Manager" in imported_modules(path) else []


def _assert_listed(paths: list[Path], catalog: Path) -> None:
    listed = imported_modules(catalog)
    assert [] == sorted(named(path) for path in paths if _dotted(path) not in listed)


def _dotted(path: Path) -> str:
    return named(path).removesuffix(".py").replace("/", ".")
