"""50,000 malformed requests at a real server: no 500 of its own, nothing hangs, and nobody else's writes are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.campaign import Campaign, Outcome
from tests.fuzz.generator import Generator
from tests.fuzz.server import ServerProcess
from tests.fuzz.steady import State, SteadyWriter

# Half a minute on two idle cores. Hanging is told from other requests' progress, not from the time.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

SEED = 20260
WARM_UP, REQUESTS = 10_000, 50_000
GROWTH_MIB = 100


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """An API server of this test's own, on SQLite."""
    process = ServerProcess(tmp_path)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def test_malformed_requests(server: ServerProcess) -> None:
    """Every request is answered as upstream might, within bounds; a client that writes meanwhile loses nothing.

    `python -m tests.fuzz --seed SEED --only NUMBER` sends a request that a failure names again.
    """
    warm_up, first_peak, rest, writer = asyncio.run(_both_parts(server))

    for outcome in (warm_up, rest):
        assert not outcome.findings, str(outcome)
    assert REQUESTS == warm_up.requests + rest.requests
    assert server.complaints() == ""
    assert server.is_alive()
    assert server.peak_mib() < first_peak + GROWTH_MIB
    server.kill()
    server.start()
    assert writer.acknowledged == asyncio.run(_listed(server)), "after kill -9"


def test_the_fuzzer_reaches_what_it_is_after(server: ServerProcess) -> None:
    """Its requests are not all refused at the door: objects are made, changed, deleted and refused by validation."""
    outcome = asyncio.run(_short(server))

    statuses = {status for _, status in outcome.families}
    assert {200, 201, 400, 404, 405, 406, 409, 415, 422} <= statuses
    assert {"write", "patch", "custom", "delete", "recorded"} <= {name for name, code in outcome.families if code < 300}


def test_a_request_can_be_made_again() -> None:
    """Its number and the seed are all it comes from."""
    again = Generator(7)

    assert [Generator(7).request(number) for number in (5, 999)] == [again.request(5), again.request(999)]
    assert Generator(8).request(5) != again.request(5)


async def _both_parts(server: ServerProcess) -> tuple[Outcome, int, Outcome, SteadyWriter]:
    """The warm-up and how much memory it took, the rest, and what the steady writer may expect."""
    writer = SteadyWriter(server.port)
    warm_up = await Campaign(server.port, SEED, range(WARM_UP), writer).run()
    peak = server.peak_mib()
    rest = await Campaign(server.port, SEED, range(WARM_UP, REQUESTS), writer).run()
    assert writer.acknowledged == await writer.listed()
    assert writer.log == await writer.watched()
    await writer.close()
    return warm_up, peak, rest, writer


async def _short(server: ServerProcess) -> Outcome:
    writer = SteadyWriter(server.port)
    outcome = await Campaign(server.port, SEED + 1, range(3000), writer).run()
    await writer.close()
    return outcome


async def _listed(server: ServerProcess) -> State:
    reader = SteadyWriter(server.port)
    try:
        return await reader.listed()
    finally:
        await reader.close()
