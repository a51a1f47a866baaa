"""A run: many requests over many connections, beside a client that writes as it should."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fuzz.client import Answer, Closed, Connection
from tests.fuzz.customs import setup
from tests.fuzz.generator import NAMESPACE, Generator
from tests.fuzz.promises import problem
from tests.fuzz.request import Request, http
from tests.fuzz.steady import NAMESPACE as STEADY
from tests.fuzz.steady import LostWrite, SteadyWriter

CONNECTIONS = 12
_PIPELINED = 4
# A request that waits while the server does so much else will never be answered (a resourceVersion that is not there
# yet is waited for on purpose, three seconds long). An answer counts one, a steady write ten.
HANGS_AFTER = 30_000
_STEADY = 10
_ENOUGH = 200  # findings


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken promise, and the request that broke it (-1 where no single one did)."""

    number: int
    what: str
    raw: bytes = b""

    def __str__(self) -> str:
        return f"request {self.number}: {self.what}\n    {self.raw[:3000]!r}"


@dataclass(slots=True)
class Outcome:
    """What came of a run."""

    seed: int
    findings: list[Finding] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)  # by status; 0 is a connection closed instead
    families: Counter[tuple[str, int]] = field(default_factory=Counter)
    steady_writes: int = 0

    @property
    def requests(self) -> int:
        return self.answers.total()

    def __str__(self) -> str:
        kinds: dict[str, list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault(finding.what[:60], []).append(finding)
        told = "\n".join(f"{len(found)} like this: {found[0]}" for found in kinds.values())
        return f"seed {self.seed}: {self.requests} requests, answers {dict(sorted(self.answers.items()))}, {self.steady_writes} steady writes\n{told}"


class Campaign:
    """Sends the requests of `numbers`; `writer` writes meanwhile."""

    def __init__(self, port: int, seed: int, numbers: range, writer: SteadyWriter) -> None:
        self._port, self._generator, self._writer = port, Generator(seed), writer
        self._numbers: Iterator[int] = iter(numbers)
        self.outcome = Outcome(seed)
        self._progress, self._is_over = 0, False
        # connection -> the request it waits for, and the progress when it began to.
        self._waiting: dict[Connection, tuple[int, Request, int]] = {}

    async def run(self) -> Outcome:
        await _prepare(self._port)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_steadily())
            group.create_task(self._find_hanging())
            clients = [group.create_task(self._client()) for _ in range(CONNECTIONS)]
            await asyncio.wait(clients)
            self._is_over = True  # the writer hears of its last write before it ends
        self.outcome.steady_writes = len(self._writer.log)
        return self.outcome

    async def _client(self) -> None:
        """Batches of requests, one after the other, until there are no more or too much was found."""
        connection: Connection | None = None
        while len(self.outcome.findings) < _ENOUGH and (batch := self._batch()):
            while batch:
                if connection is None:
                    try:
                        connection = await Connection.open(self._port)
                    except OSError as error:
                        self._found(batch[0], f"nobody listens any more: {error}")
                        return
                done, keeps = await self._exchange(connection, batch)
                batch = batch[done:]
                if not keeps:
                    await connection.close()
                    connection = None
        if connection is not None:
            await connection.close()

    def _batch(self) -> list[tuple[int, Request]]:
        """What is sent in one go: some requests that leave the connection as it was, or a single other one."""
        batch: list[tuple[int, Request]] = []
        for number in self._numbers:
            request = self._generator.request(number)
            batch.append((number, request))
            if request.is_alone or len(batch) == _PIPELINED:
                break
        return batch

    async def _exchange(self, connection: Connection, batch: list[tuple[int, Request]]) -> tuple[int, bool]:
        """How many were answered, and whether the connection can be used again.

        One that must be alone is the last of its batch, and is sent when the others are answered.
        """
        together = [pair for pair in batch if not pair[1].is_alone] or batch[:1]
        connection.send(b"".join(request.raw for _, request in together))
        if together[0][1].is_cut:
            connection.end()
        for done, (number, request) in enumerate(together):
            self._waiting[connection] = (number, request, self._progress)
            try:
                if request.is_cut:
                    self._told(number, request, await connection.rest())
                    return 1, False
                answer = await connection.answer(is_head=request.is_head)
            except Closed:
                self._closed(number, request)
                return done + 1, False
            finally:
                self._waiting.pop(connection, None)
            self._answered(number, request, answer)
            if answer.is_open or answer.headers.get("connection") == "close":
                return done + 1, False
        return len(together), not together[-1][1].is_alone

    def _answered(self, number: int, request: Request, answer: Answer) -> None:
        self._count(request, answer.status)
        if what := problem(request, answer):
            self._found((number, request), what)

    def _closed(self, number: int, request: Request) -> None:
        self._count(request, 0)
        if request.is_http:
            self._found((number, request), "the connection was closed without an answer")

    def _told(self, number: int, request: Request, everything: bytes) -> None:
        """Of a connection that was ended half-way all that counts is that nothing went wrong."""
        status = int(everything[9:12]) if everything[9:12].isdigit() else 0
        self._count(request, status)
        _, _, body = everything.partition(b"\r\n\r\n")
        if status >= 500 and (what := problem(request, Answer(status, {}, body))):
            self._found((number, request), what)

    def _count(self, request: Request, status: int) -> None:
        self._progress += 1
        self.outcome.answers[status] += 1
        self.outcome.families[request.family, status] += 1

    def _found(self, pair: tuple[int, Request], what: str) -> None:
        self.outcome.findings.append(Finding(pair[0], what, pair[1].raw))

    async def _write_steadily(self) -> None:
        """Until the others are done, and leaving most of the server to them."""
        while not self._is_over:
            try:
                await self._writer.write()
            except LostWrite as error:
                self.outcome.findings.append(Finding(-1, str(error)))
                return
            self._progress += _STEADY
            await asyncio.sleep(0.005)

    async def _find_hanging(self) -> None:
        while not self._is_over:
            for connection, (number, request, since) in [*self._waiting.items()]:
                if self._progress - since > HANGS_AFTER:
                    self._found((number, request), f"not answered while {HANGS_AFTER} others were")
                    connection.abort()
            await asyncio.sleep(0.2)


async def _prepare(port: int) -> None:
    """The namespaces and definitions that requests are about."""
    connection = await Connection.open(port)
    wanted = [
        ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name in (NAMESPACE, STEADY)
    ]
    wanted += [("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd) for crd in setup()]
    for path, obj in wanted:
        connection.send(http("POST", path, [(b"Content-Type", b"application/json")], json.dumps(obj).encode()))
        answer = await connection.answer()
        assert answer.status in (201, 409), answer.body
    await connection.close()
