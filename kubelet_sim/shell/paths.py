"""Paths of files."""

from __future__ import annotations

import posixpath


def resolved(directory: str, name: str) -> str:
    """Absolute, without `.` and `..`."""
    path = posixpath.normpath(posixpath.join(directory, name))
    return "/" + path.lstrip("/")
