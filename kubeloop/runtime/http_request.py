"""The head of an HTTP/1.1 request, read off a connection: for processes that serve a little and are no web servers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

MAX_HEAD_BYTES = 16 * 1024
READ_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """`headers` by lower-case name, the last of several; `path` is unescaped; `head` is all of it as it came."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    head: bytes

    def first(self, name: str) -> str:
        """A parameter of the query; "" where it is missing."""
        return (self.query.get(name) or ("",))[0]

    @property
    def host(self) -> str:
        """The Host header without its port, in lower case."""
        host = self.headers.get("host", "").lower()
        return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Within READ_SECONDS. Raises TimeoutError, OSError, IncompleteReadError, or LimitOverrunError for a long one.

    The reader's limit is that of the head (MAX_HEAD_BYTES). What cannot be read is a request for nothing.
    """
    async with asyncio.timeout(READ_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, *_ = [*first.split(" "), ""]
    path, _, query = target.partition("?")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return Request(method, unquote(path), parse_qs(query, keep_blank_values=True), headers, head)
