"""Many writers at once, over real sockets, at a real server: versions are an order, and no write is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.client import Answer, Closed, Connection
from tests.fuzz.request import http
from tests.fuzz.server import ServerProcess

pytestmark = pytest.mark.e2e

WRITERS, INCREMENTS, ROUNDS = 8, 12, 15
PATH = "/api/v1/namespaces/default/configmaps"
Object = dict[str, Any]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path)
    process.start()
    try:
        yield process
    finally:
        process.stop()


class Client:
    """One connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, server: ServerProcess) -> Client:
        return cls(await Connection.open(server.port))

    async def call(self, method: str, path: str, body: Object | None = None) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        self._connection.send(http(method, path, [(b"Content-Type", b"application/json")] if content else [], content))
        return await self._connection.answer()

    async def close(self) -> None:
        await self._connection.close()


def config_map(name: str, n: int, version: str = "") -> Object:
    metadata = {"name": name, **({"resourceVersion": version} if version else {})}
    return {"metadata": metadata, "data": {"n": str(n)}}


async def with_clients(server: ServerProcess, work: Any) -> list[Any]:
    """`work(client, number)` of all writers at the same time."""
    clients = [await Client.open(server) for _ in range(WRITERS)]
    try:
        return await asyncio.gather(*(work(client, number) for number, client in enumerate(clients)))
    finally:
        for client in clients:
            await client.close()


def test_a_counter_counts_every_acknowledged_increment(server: ServerProcess) -> None:
    """Read, add one, put with the version read, again after a 409: the sum is right, and a watch saw each."""

    async def increment(client: Client, _: int) -> list[tuple[int, int]]:
        acknowledged: list[tuple[int, int]] = []
        while len(acknowledged) < INCREMENTS:
            current = (await client.call("GET", f"{PATH}/counter")).value()
            n = int(current["data"]["n"]) + 1
            answer = await client.call(
                "PUT", f"{PATH}/counter", config_map("counter", n, current["metadata"]["resourceVersion"])
            )
            assert answer.status in (200, 409), answer.body
            if answer.status == 200:
                acknowledged.append((int(answer.value()["metadata"]["resourceVersion"]), n))
        return acknowledged

    async def count() -> tuple[Object, list[tuple[int, int]], list[tuple[int, int]]]:
        first = await Client.open(server)
        created = (await first.call("POST", PATH, config_map("counter", 0))).value()
        written = sorted(pair for pairs in await with_clients(server, increment) for pair in pairs)
        seen = await watched(server, created["metadata"]["resourceVersion"], written[-1][0])
        final: Object = (await first.call("GET", f"{PATH}/counter")).value()
        await first.close()
        return final, written, seen

    final, written, seen = asyncio.run(count())

    total = WRITERS * INCREMENTS
    assert str(total) == final["data"]["n"]
    assert list(range(1, total + 1)) == [n for _, n in written], "in the order of their versions, each once"
    assert len({version for version, _ in written}) == total
    assert written == seen


def test_of_those_who_saw_the_same_version_one_wins(server: ServerProcess) -> None:
    """All put on one version at once: a single 200 each round, the others are told to try again."""

    async def race() -> list[list[int]]:
        first = await Client.open(server)
        version = (await first.call("POST", PATH, config_map("prize", 0))).value()["metadata"]["resourceVersion"]
        rounds: list[list[int]] = []

        async def put(client: Client, number: int) -> Answer:
            return await client.call(
                "PUT", f"{PATH}/prize", config_map("prize", 100 * len(rounds) + number + 1, version)
            )

        for _ in range(ROUNDS):
            answers = await with_clients(server, put)
            rounds.append(sorted(answer.status for answer in answers))
            version = next(answer.value()["metadata"]["resourceVersion"] for answer in answers if answer.status == 200)
        await first.close()
        return rounds

    assert [[200] + [409] * (WRITERS - 1)] * ROUNDS == asyncio.run(race())


def test_kill_9_loses_no_acknowledged_write(server: ServerProcess) -> None:
    """Whatever was answered before the server was killed in the middle of writes is there when it is back."""
    acknowledged: dict[str, str] = {}

    async def write(client: Client, number: int) -> None:
        try:
            for n in range(10_000):
                answer = await client.call("POST", PATH, config_map(f"w{number}-{n}", n))
                assert answer.status == 201, answer.body
                acknowledged[f"w{number}-{n}"] = answer.value()["metadata"]["resourceVersion"]
                if len(acknowledged) == 400:
                    server.kill()
        except Closed:
            return

    async def listed() -> dict[str, str]:
        client = await Client.open(server)
        items = (await client.call("GET", PATH)).value()["items"]
        await client.close()
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    asyncio.run(with_clients(server, write))
    server.start()
    found = asyncio.run(listed())

    assert len(acknowledged) >= 400
    assert acknowledged == {name: found.get(name) for name in acknowledged}


async def watched(server: ServerProcess, since: str, last: int) -> list[tuple[int, int]]:
    """(version, n) of all changes of the counter after one version, up to another."""
    connection = await Connection.open(server.port)
    connection.send(http("GET", f"{PATH}?watch=1&resourceVersion={since}&fieldSelector=metadata.name=counter"))
    await connection.answer()
    seen: list[tuple[int, int]] = []
    while not seen or seen[-1][0] < last:
        line = await connection.line()
        assert line, "the watch ended"
        if line.startswith(b"{"):
            obj = json.loads(line)["object"]
            seen.append((int(obj["metadata"]["resourceVersion"]), int(obj["data"]["n"])))
    await connection.close()
    return seen
