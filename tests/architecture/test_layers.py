"""Imports go one way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def test_every_import_contract_is_kept() -> None:
    """The contracts in pyproject.toml hold; import-linter names the import that breaks one."""
    lint = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([lint], capture_output=True, text=True, check=False, cwd=ROOT)

    assert 0 == done.returncode, done.stdout
