"""Who is asked at which extension point: the default plugins, and what a profile adds, removes and reorders.

As pkg/scheduler/apis/config/v1/default_plugins.go merges and framework/runtime expands `multiPoint` (v1.36): a specific
point wins over multiPoint, enabled over disabled; at each point come first the plugins that it re-configures, then
those of multiPoint, then the others it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.scheduler.interface import EXTENSION_POINTS, Plugin
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry

MULTI_POINT = "multiPoint"
EVERYTHING = "*"


class PluginsRefused(ValueError):
    """The plugins of a profile cannot work together; the text says why."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`entries`: every plugin that is asked anywhere, with its weight; `at`: the names by extension point, in order."""

    entries: Sequence[Entry]
    at: Mapping[str, Sequence[str]]


def arrange(scheduler_name: str, plugins: Mapping[str, Any], known: Mapping[str, type[Plugin]]) -> Arrangement:
    """`plugins` is a profile's; `known` are all plugins by name, ours and the user's. Raises PluginsRefused."""
    everywhere = _merged_multi_point(plugins.get(MULTI_POINT) or {})
    for plugin_set in ((plugins.get(point) or {}) for point in EXTENSION_POINTS):
        _check_known(_weights(plugin_set), known)
    _check_known(everywhere, known)
    at = {
        point: _names_at(point, kind, plugins.get(point) or {}, list(everywhere), known)
        for point, kind in EXTENSION_POINTS.items()
    }
    if len(at["queueSort"]) != 1:
        raise PluginsRefused(
            f'only one queue sort plugin required for profile with scheduler name "{scheduler_name}",'
            f" but got {len(at['queueSort'])}"
        )
    if not at["bind"]:
        raise PluginsRefused(f'at least one bind plugin is needed for profile with scheduler name "{scheduler_name}"')
    weights = {**everywhere, **_weights(plugins.get("score") or {})}
    used = {name: None for names in at.values() for name in names}
    return Arrangement([Entry(known[name], weights.get(name) or 1) for name in used], at)


def _merged_multi_point(plugin_set: Mapping[str, Any]) -> dict[str, int]:
    """Names and weights: the defaults in their order, re-weighted where the profile says so, then what it adds."""
    disabled, enabled = _disabled(plugin_set), _weights(plugin_set)
    merged: dict[str, int] = {}
    if EVERYTHING not in disabled:
        for entry in DEFAULT_PLUGINS:
            name = entry.plugin.NAME
            if name not in disabled:
                merged[name] = enabled.get(name, entry.weight)
    return {**merged, **enabled}


def _names_at(
    point: str,
    kind: type[Plugin],
    plugin_set: Mapping[str, Any],
    everywhere: Sequence[str],
    known: Mapping[str, type[Plugin]],
) -> Sequence[str]:
    disabled, here = _disabled(plugin_set), list(_weights(plugin_set))
    for name in here:
        if not issubclass(known[name], kind):
            raise PluginsRefused(f'plugin "{name}" does not extend {kind.__name__} plugin')
    if EVERYTHING in disabled:
        return here
    able = [name for name in everywhere if issubclass(known[name], kind) and name not in disabled]
    reconfigured = [name for name in here if name in able]
    return [
        *reconfigured,
        *(name for name in able if name not in here),
        *(name for name in here if name not in reconfigured),
    ]


def _weights(plugin_set: Mapping[str, Any]) -> dict[str, int]:
    weights: dict[str, int] = {}
    for plugin in plugin_set.get("enabled") or ():
        if plugin["name"] in weights:
            raise PluginsRefused(f'plugin "{plugin["name"]}" already registered')
        weights[plugin["name"]] = plugin.get("weight") or 0
    return weights


def _disabled(plugin_set: Mapping[str, Any]) -> set[str]:
    return {plugin["name"] for plugin in plugin_set.get("disabled") or ()}


def _check_known(names: Mapping[str, int], known: Mapping[str, type[Plugin]]) -> None:
    for name in names:
        if name not in known:
            raise PluginsRefused(f'plugin "{name}" does not exist (known are: {", ".join(sorted(known))})')
