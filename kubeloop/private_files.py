"""Files that nobody but this user may read: keys, tokens, kubeconfigs."""

from __future__ import annotations

from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file anew, private from its first moment on."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
