"""What is locked is the same everywhere."""

from __future__ import annotations

import json

from tests.testkit.client_tools import JAVASCRIPT


def test_packages_come_from_whatever_registry_is_configured() -> None:
    """package-lock.json names none, and says of each package what it must be."""
    packages = json.loads((JAVASCRIPT / "package-lock.json").read_text())["packages"]

    locked = [package for name, package in packages.items() if name]
    assert len(locked) > 20
    assert [] == [package for package in locked if "resolved" in package or "integrity" not in package]
