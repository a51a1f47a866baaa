"""`python -m tests.fuzz --requests 200000 --seed 7`: a longer run than `make test` has time for.

`--only N` sends request N of the seed alone, and prints it and its answer.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.campaign import Campaign, Outcome
from tests.fuzz.generator import Generator
from tests.fuzz.server import ServerProcess
from tests.fuzz.steady import SteadyWriter


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="send this one of the seed's requests alone")
    parser.add_argument(
        "--server", type=int, metavar="PORT", help="a server that runs already, its admin's token admintoken"
    )
    options = parser.parse_args()
    numbers = range(options.requests) if options.only is None else range(options.only, options.only + 1)
    if options.only is not None:
        print(Generator(options.seed).request(options.only).raw[:5000])
    if options.server is not None:
        outcome = asyncio.run(_run(options.server, options.seed, numbers))
        print(outcome)
        return bool(outcome.findings)
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory))
        server.start()
        began = time.monotonic()
        try:
            outcome = asyncio.run(_run(server.port, options.seed, numbers))
            print(outcome)
            print(f"{time.monotonic() - began:.1f} s, at most {server.peak_mib()} MiB")
            print(*sorted(outcome.families.items()), sep="\n")
            print(server.complaints())
        finally:
            server.stop()
    return bool(outcome.findings)


async def _run(port: int, seed: int, numbers: range) -> Outcome:
    writer = SteadyWriter(port)
    try:
        return await Campaign(port, seed, numbers, writer).run()
    finally:
        await writer.close()


if __name__ == "__main__":
    sys.exit(main())
