"""The file of the key that signs service account tokens.

The API server signs the tokens that are asked for, the loop of token Secrets those that it writes: each reads the file,
and makes it where there is none. Two that make it at once end up with the same key.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubeloop.tokens.keys import PrivateKey

NAME = "service-account.key"


def read_or_make(file: Path) -> PrivateKey:
    """Takes 200 ms where the key is made. Raises KeyFileError or OSError."""
    from kubeloop.tokens import keys  # costs 100 ms

    if not file.exists():
        _write_once(file, keys.generate().to_pem())
    return keys.read_private_key(file.read_bytes())


def _write_once(file: Path, text: bytes) -> None:
    """As a whole: who is killed here leaves no half of a key. Whoever comes second leaves the first one's."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(descriptor)
        file.hardlink_to(temporary)
    except FileExistsError:
        return
    finally:
        temporary.unlink()
