"""Every plugin file is in the tuple, and every plugin can do what its place in the tuple needs."""

from __future__ import annotations

from pathlib import Path

from controllers.scheduler import interface, plugins
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS


def test_every_plugin_is_listed() -> None:
    """A file in plugins/ that defines a plugin stands in DEFAULT_PLUGINS; hints and the catalog define none."""
    folder = Path(plugins.__path__[0])
    files = {file.stem for file in folder.glob("*.py")} - {"__init__", "catalog"}
    files -= {stem for stem in files if stem.endswith("_hints")}

    assert files == {entry.plugin.__module__.rpartition(".")[2] for entry in DEFAULT_PLUGINS}


def test_names_are_unique() -> None:
    """A plugin's name is its identity in states, events and arguments."""
    names = [entry.plugin.NAME for entry in DEFAULT_PLUGINS]

    assert sorted(set(names)) == sorted(names)


def test_one_order_and_a_binder() -> None:
    """Exactly one plugin sorts the queue, and at least one binds."""
    kinds = [entry.plugin for entry in DEFAULT_PLUGINS]

    assert 1 == sum(issubclass(kind, interface.QueueSortPlugin) for kind in kinds)
    assert any(issubclass(kind, interface.BindPlugin) for kind in kinds)
