"""Puts the pieces of a log together.

A chunk of its own for each line costs everybody on the way to the reader more than the line does: dozens of readers of
a log that is written quickly kept kubelets and API server from all else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

CHUNK_BYTES = 16 * 1024  # from so much on nothing is held back

# A piece that says: the next one may take a while.
NOTHING_NOW = b""


async def gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in fewer pieces; none of them waits for what is not written yet."""
    held, size = list[bytes](), 0
    async for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size and (size >= CHUNK_BYTES or piece == NOTHING_NOW):
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)
