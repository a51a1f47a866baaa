"""Loops of the catalog as processes of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from controllers import catalog
from controllers.scheduler import loop as scheduler
from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.runtime.manager import Manager
from kubeloop.testing.cluster import Process, a_loop
from tests.unit.controllers import nodes


def processes(*names: str, **settings: Any) -> Mapping[str, Process]:
    """One process a loop, under its name in the catalog; `pods` makes pods ready and lets them go."""
    own = catalog.Settings(**settings)
    return {name: _a_loop(nodes.add_to if name == "pods" else _adder(name, own)) for name in names}


def all_loops() -> Process:
    """Every loop in one process, as `kubeloop up` runs them."""
    return _a_loop(partial(catalog.add_to, loops=catalog.LOOPS, settings=catalog.Settings()))


def the_scheduler() -> Process:
    return _a_loop(_add_scheduler)


def kubelets(count: int, prefix: str = "node-") -> Process:
    return a_loop(partial(simulator.add_to, settings=Settings(nodes=count, node_name_prefix=prefix)))


def _a_loop(add_to: Callable[[Manager], None]) -> Process:
    """As the loops' own processes are."""
    return a_loop(add_to, managed_fields=False)


def _adder(name: str, settings: catalog.Settings) -> partial[None]:
    return partial(catalog.add_to, loops=catalog.select([name]), settings=settings)


def _add_scheduler(manager: Manager) -> None:
    scheduler.add_to(manager)
