"""Where the keys of service account tokens come from, and when: nothing is read or made before it is needed.

A server that nobody asks for a token, and that has no key from an earlier run, never loads `cryptography`. The key is
made when the first token is asked for, in a thread (200 ms), and kept in the data directory for this user only.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiserver.auth.tokens.keys import PrivateKey, PublicKey

FILE = "service-account.key"


class Keyring:
    """The signing key and all verifying ones.

    `file` is None where nothing is kept (--storage=memory). `others` are files with further keys whose tokens are good
    (--service-account-key-file).
    """

    def __init__(self, file: Path | None = None, others: Sequence[Path] = ()) -> None:
        self._file, self._others = file, tuple(others)
        self._private: PrivateKey | None = None
        self._public: Sequence[PublicKey] | None = None
        self._making = asyncio.Lock()  # two first requests make one key

    async def signing(self) -> PrivateKey:
        """The key to sign with, made where there is none. Raises KeyFileError or OSError."""
        async with self._making:
            if self._private is None:
                self._private = await asyncio.to_thread(self._read_or_make)
                self._public = None
        return self._private

    async def published(self) -> Sequence[PublicKey]:
        """The keys a relying party is told of: the one that signs first."""
        await self.signing()
        return self.verifying()

    def verifying(self, key_id: str = "") -> Sequence[PublicKey]:
        """The keys that may have signed a token which names that key; all where it names none.

        No key is made for this: what no key of ours can have signed is nobody's token.
        """
        if self._public is None:
            self._public = self._read_public()
        return [key for key in self._public if not key_id or key.key_id == key_id]

    def check(self) -> None:
        """Read what was given. Raises KeyFileError or OSError: better at the start than at the first token."""
        self._read_public()

    def _read_or_make(self) -> PrivateKey:
        from apiserver.auth.tokens import keys  # costs 100 ms

        if self._file is None:
            return keys.generate()
        if not self._file.exists():
            _write_private(self._file, keys.generate().to_pem())
        return keys.read_private_key(self._file.read_bytes())

    def _read_public(self) -> Sequence[PublicKey]:
        texts = [file.read_bytes() for file in self._others]
        if self._private is None and self._file is not None and self._file.exists():
            texts.insert(0, self._file.read_bytes())
        if not texts:
            return [] if self._private is None else [self._private.public]
        from apiserver.auth.tokens import keys  # costs 100 ms

        found = [] if self._private is None else [self._private.public]
        for text in texts:
            found += keys.read_public_keys(text)
        return list({key.key_id: key for key in found}.values())


def _write_private(file: Path, text: bytes) -> None:
    """As a whole: a server that is killed here leaves no half of a key."""
    temporary = file.with_name(f"{file.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(descriptor)
    temporary.replace(file)
