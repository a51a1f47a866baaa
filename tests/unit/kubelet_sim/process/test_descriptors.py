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
