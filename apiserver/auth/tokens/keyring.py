"""Where the keys of service account tokens come from, and when: nothing is read or made before it is needed.

A server that nobody asks for a token, and that has no key from an earlier run, never loads `cryptography`. The key is
made when the first token is asked for, in a thread (200 ms), and kept in the data directory for this user only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubeloop.tokens import key_file

if TYPE_CHECKING:
    from kubeloop.tokens.keys import PrivateKey, PublicKey


class Keyring:
    """The signing key and all verifying ones.

    `file` is None where nothing is kept (--storage=memory). `others` are files with further keys whose tokens are good
    (--service-account-key-file).
    """

    def __init__(self, file: Path | None = None, others: Sequence[Path] = ()) -> None:
        self._file, self._others = file, tuple(others)
        self._private: PrivateKey | None = None
        self._public: Sequence[PublicKey] | None = None
        self._knows_own = False  # whether the public half of the signing key is among them
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

        No key is made for this: what no key of ours can have signed is nobody's token. But the loop of token Secrets
        may have made it meanwhile.
        """
        if self._public is None or (not self._knows_own and self._has_file()):
            self._public = self._read_public()
        return [key for key in self._public if not key_id or key.key_id == key_id]

    def check(self) -> None:
        """Read what was given. Raises KeyFileError or OSError: better at the start than at the first token."""
        self._read_public()

    def _has_file(self) -> bool:
        return self._file is not None and self._file.exists()

    def _read_or_make(self) -> PrivateKey:
        if self._file is not None:
            return key_file.read_or_make(self._file)
        from kubeloop.tokens import keys  # costs 100 ms

        return keys.generate()

    def _read_public(self) -> Sequence[PublicKey]:
        texts = [file.read_bytes() for file in self._others]
        self._knows_own = self._private is not None
        if self._private is None and self._file is not None and self._has_file():
            texts.insert(0, self._file.read_bytes())
            self._knows_own = True
        if not texts:
            return [] if self._private is None else [self._private.public]
        from kubeloop.tokens import keys  # costs 100 ms

        found = [] if self._private is None else [self._private.public]
        for text in texts:
            found += keys.read_public_keys(text)
        return list({key.key_id: key for key in found}.values())
