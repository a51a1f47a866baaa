"""The same examples every time, and an order that keeps all cores busy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "properties", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("properties")

TESTS = Path(__file__).parent
# Files are handed to workers in this order, one after another: what takes minutes first, so that nobody ends up
# waiting for a last long file. Those of tests/e2e mostly wait and leave the cores to the rest, which is quick.
FIRST = ("conformance", "level_triggered", "e2e", "fuzz")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0]
    return FIRST.index(folder) if folder in FIRST else len(FIRST)
