"""A transport that answers from a script: for answers that no well-behaved server gives on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from kubeloop.client.transport import ConnectionFailed, Request


@dataclass
class Answer:
    """`chunks` are handed out one after the other; then the body ends, is cut, or stays open for ever."""

    status: int = 200
    chunks: Sequence[bytes] = ()
    is_cut: bool = False
    stays_open: bool = False
    content_type: str = "application/json"

    async def stream(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk
        if self.is_cut:
            raise ConnectionFailed("cut")
        if self.stays_open:
            await asyncio.Event().wait()


@dataclass
class Script:
    """Answers requests in order; the last answer is an endless silence. A ConnectionFailed in the script is raised."""

    answers: list[Answer | ConnectionFailed]
    requests: list[Request] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    async def send(self, request: Request) -> Any:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, ConnectionFailed):
            raise answer
        return _Response(answer)

    async def aclose(self) -> None:
        pass

    def queries(self) -> list[dict[str, str]]:
        """The query of each request, by name."""
        return [{k: v[0] for k, v in parse_qs(urlsplit(request.target).query).items()} for request in self.requests]


class _Response:
    def __init__(self, answer: Answer) -> None:
        self.status, self.content_type = answer.status, answer.content_type
        self._answer = answer

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self._answer.stream()])

    def chunks(self) -> AsyncIterator[bytes]:
        return self._answer.stream()

    async def aclose(self) -> None:
        pass


def json_answer(value: Any, status: int = 200) -> Answer:
    return Answer(status, [orjson.dumps(value)])


def status_answer(code: int, reason: str, message: str) -> Answer:
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return json_answer(status, code)


def events_answer(*events: tuple[str, Any], is_cut: bool = False, stays_open: bool = False) -> Answer:
    lines = [orjson.dumps({"type": kind, "object": obj}) + b"\n" for kind, obj in events]
    return Answer(200, lines, is_cut, stays_open)
