"""Reading pipes and terminals in an event loop."""

from __future__ import annotations

import asyncio
import os

from kubelet_sim.process.descriptors import Descriptor


def test_reading_what_always_has_more_lets_others_go_on() -> None:
    """A program that never stops writing is not the only one there is: each piece is one turn."""

    async def main() -> int:
        endless, pieces = Descriptor(os.open("/dev/zero", os.O_RDONLY)), 0

        async def read_on() -> None:
            nonlocal pieces
            while pieces < 1000 and await endless.read():
                pieces += 1

        reading = asyncio.ensure_future(read_on())
        for _ in range(10):
            await asyncio.sleep(0)
        read_meanwhile = pieces
        await reading
        endless.close()
        return read_meanwhile

    assert asyncio.run(main()) <= 10


def test_two_who_write_to_a_full_pipe_both_get_their_turn() -> None:
    """As two who attached to one container do: neither waits for ever, and what they wrote is not mixed."""
    size = 1 << 20

    async def main() -> bytes:
        ours, theirs = os.pipe()
        reader, writer = Descriptor(ours), Descriptor(theirs)
        read = b""
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for piece in (b"a", b"b"):
                tasks.create_task(writer.write(piece * size))
            while len(read) < 2 * size:
                read += await reader.read()
        reader.close()
        writer.close()
        return read

    assert asyncio.run(main()) == b"a" * size + b"b" * size
