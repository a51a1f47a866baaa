"""Removing what containers have left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def remove_tree(directory: Path) -> None:
    """As much as can be removed: also what is in directories that may not be written, as caches of modules are."""
    shutil.rmtree(directory, ignore_errors=True)
    if not directory.is_dir():
        return
    for folder, names, _ in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o700)  # before it is walked
    shutil.rmtree(directory, ignore_errors=True)
