"""Raw requests to an API server in this process, on virtual time: what is sent, byte for byte, and what comes back."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.testing import virtual_time
from kubeloop.testing.transport import InProcessTransport

MERGE, JSON_PATCH, STRATEGIC, APPLY, JSON, YAML = (
    f"application/{form}"
    for form in (
        "merge-patch+json",
        "json-patch+json",
        "strategic-merge-patch+json",
        "apply-patch+yaml",
        "json",
        "yaml",
    )
)


@dataclass(frozen=True, slots=True)
class Ask:
    """`body` is sent as it is where it is text, else as JSON."""

    method: str
    target: str
    body: Any = None
    content_type: str = ""
    more: Mapping[str, str] = field(default_factory=dict)  # further headers

    @property
    def content(self) -> bytes:
        if self.body is None:
            return b""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def headers(self) -> dict[str, str]:
        default = MERGE if self.method == "PATCH" else JSON
        typed = {"content-type": self.content_type or default} if self.body is not None else {}
        return {**typed, **self.more}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `warnings` are the texts of the Warning headers, `text` is the body as it was sent."""

    status: int
    body: Any
    warnings: Sequence[str] = field(default=())
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[tuple[str, str]]:
        """(field, message) of each cause."""
        causes = (self.body.get("details") or {}).get("causes") or ()
        return [(cause.get("field", ""), cause["message"]) for cause in causes]


def exchange(*asks: Ask, **options: Any) -> list[Answer]:
    """The answers of a new server to these requests, one after the other; `options` are ApiServer's."""

    async def run() -> list[Answer]:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1), **options)
        async with server.running():
            transport = InProcessTransport(server.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return [await _answer(client, ask) for ask in asks]

    return virtual_time.run(run())


async def _answer(client: httpx.AsyncClient, ask: Ask) -> Answer:
    response = await client.request(ask.method, ask.target, content=ask.content, headers=ask.headers)
    raw = response.content
    body = json.loads(raw) if raw.startswith((b"{", b"[")) else raw.decode()
    warnings = [_text(value) for value in response.headers.get_list("warning")]
    return Answer(response.status_code, body, warnings, raw.decode(), response.headers)


def _text(header: str) -> str:
    """The text of `299 - "text"`."""
    return header.split('"', 1)[1].removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")
