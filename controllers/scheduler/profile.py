"""Profiles: a scheduler name, the plugins it runs, and their arguments. One process may serve several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import Filtering, Handle
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry

DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Profile:
    """Pods whose spec.schedulerName is `name` are scheduled by it. `percentage_of_nodes_to_score` 0: adaptive.

    `at`: by extension point, the names of the plugins asked there, where that is not all that have it.
    """

    name: str = DEFAULT_SCHEDULER
    plugins: Sequence[Entry] = DEFAULT_PLUGINS
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by plugin name
    percentage_of_nodes_to_score: int = 0
    at: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def build(
        self,
        handle: Handle,
        nominator: Nominator,
        extenders: Extenders = NO_EXTENDERS,
        make: Callable[..., Framework] = Framework,
    ) -> Framework:
        """The framework of this profile, by `make`; `handle` is what its plugins reach the scheduler by."""
        built: list[Framework] = []
        filtering: Callable[[], Filtering] = lambda: built[0]  # noqa: E731 - known only when the plugins are
        plugins = [
            entry.plugin(replace(handle, args=self.args.get(entry.plugin.NAME) or {}, filtering=filtering))
            for entry in self.plugins
        ]
        weights = {entry.plugin.NAME: entry.weight for entry in self.plugins}
        built.append(make(self.name, plugins, weights, nominator, self.at, extenders))
        return built[0]
