"""Plugins that are not ours: `--plugin my_plugins:PreferQuietNodes` makes the class known under its NAME."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping

from controllers.scheduler.interface import Plugin
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS


class PluginNotLoaded(ValueError):
    """What --plugin names cannot be used; the text says why."""


def known_plugins(spelled: Iterable[str]) -> Mapping[str, type[Plugin]]:
    """Every plugin by name: ours, and those of `spelled` (module:Class). Raises PluginNotLoaded."""
    known: dict[str, type[Plugin]] = {entry.plugin.NAME: entry.plugin for entry in DEFAULT_PLUGINS}
    for text in spelled:
        plugin = _load(text)
        if plugin.NAME in known:
            raise PluginNotLoaded(f"--plugin={text}: there is a plugin {plugin.NAME} already")
        known[plugin.NAME] = plugin
    return known


def _load(text: str) -> type[Plugin]:
    module_name, colon, class_name = text.partition(":")
    if not colon:
        raise PluginNotLoaded(f"--plugin={text}: write module:Class")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise PluginNotLoaded(f"--plugin={text}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Plugin) and isinstance(getattr(found, "NAME", None), str)):
        raise PluginNotLoaded(f"--plugin={text}: not a class derived from Plugin that has a NAME")
    return found
