"""The well-behaved client: it writes all the while, and knows what it was told is written."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.client import Answer, Closed, Connection
from tests.fuzz.request import http

NAMESPACE = "steady"
_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_OBJECTS = 50
_TYPE = [(b"Content-Type", b"application/json")]
_MERGE = [(b"Content-Type", b"application/merge-patch+json")]

# name -> (what it holds, resourceVersion)
State = dict[str, tuple[str, str]]


class LostWrite(AssertionError):
    """The server does not have, or did not tell, what it acknowledged."""


class SteadyWriter:
    """Creates, puts and patches ConfigMaps, one after the other; `acknowledged` is what there must be."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.acknowledged: State = {}
        self.log: list[tuple[str, str]] = []  # (what was written, resourceVersion), in order
        self._number = 0
        self._connection: Connection | None = None

    async def write(self) -> None:
        """One more write. Raises LostWrite where it is refused."""
        self._number += 1
        name, text = f"steady-{self._number % _OBJECTS}", str(self._number)
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"n": text},
        }
        if name not in self.acknowledged:
            raw = http("POST", _PATH, _TYPE, json.dumps(body).encode())
        elif self._number % 3:
            raw = http("PATCH", f"{_PATH}/{name}", _MERGE, json.dumps({"data": {"n": text}}).encode())
        else:
            body["metadata"]["resourceVersion"] = self.acknowledged[name][1]
            raw = http("PUT", f"{_PATH}/{name}", _TYPE, json.dumps(body).encode())
        answer = await self._exchange(raw)
        if answer.status not in (200, 201):
            raise LostWrite(f"write {text} of {name} was refused: {answer.status} {answer.body!r}")
        written = answer.value()
        version = written["metadata"]["resourceVersion"]
        if self.log and int(version) <= int(self.log[-1][1]):
            raise LostWrite(f"resourceVersion {version} does not come after {self.log[-1][1]}")
        self.acknowledged[name] = (written["data"]["n"], version)
        self.log.append((text, version))

    async def listed(self) -> State:
        """What the server has."""
        answer = await self._exchange(http("GET", _PATH))
        if answer.status != 200:
            raise LostWrite(f"the list was refused: {answer.status} {answer.body!r}")
        items = answer.value()["items"]
        return {item["metadata"]["name"]: (item["data"]["n"], item["metadata"]["resourceVersion"]) for item in items}

    async def watched(self) -> list[tuple[str, str]]:
        """What a watch from before the first write tells, up to the last: like `log`."""
        if not self.log:
            return []
        connection = await Connection.open(self._port)
        connection.send(http("GET", f"{_PATH}?watch=1&resourceVersion={int(self.log[0][1]) - 1}"))
        await connection.answer()
        seen: list[tuple[str, str]] = []
        while not seen or int(seen[-1][1]) < int(self.log[-1][1]):
            line = await connection.line()
            if not line:
                raise LostWrite(f"the watch ended after {len(seen)} events")
            if line.startswith(b"{"):
                obj = json.loads(line)["object"]
                if "data" not in obj:
                    raise LostWrite(f"the watch tells {obj}")
                seen.append((obj["data"]["n"], obj["metadata"]["resourceVersion"]))
        await connection.close()
        return seen

    async def _exchange(self, raw: bytes) -> Answer:
        if self._connection is None:
            self._connection = await Connection.open(self._port)
        try:
            self._connection.send(raw)
            return await self._connection.answer()
        except Closed as error:
            raise LostWrite("the server closed the connection of a well-behaved client") from error

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
