"""Pieces of a log put together for the way to its reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from kubelet_sim.server.gathering import CHUNK_BYTES, NOTHING_NOW, gathered


async def of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def read(*pieces: bytes) -> list[bytes]:
    async def main() -> list[bytes]:
        return [chunk async for chunk in gathered(of(*pieces))]

    return asyncio.run(main())


def test_lines_that_are_there_go_together() -> None:
    """Tens of thousands of lines are a few chunks, and the same bytes."""
    lines = [b"%d\n" % i for i in range(20_000)]
    chunks = read(*lines)

    assert b"".join(lines) == b"".join(chunks)
    assert len(chunks) == len(b"".join(lines)) // CHUNK_BYTES + 1


def test_nothing_waits_for_what_is_not_written_yet() -> None:
    """What has come is passed on before a pause; a pause with nothing before it is no chunk."""
    assert [b"ab", b"c"] == read(NOTHING_NOW, b"a", b"b", NOTHING_NOW, NOTHING_NOW, b"c")
