"""A watch's byte stream as events.

Chunks of the network end anywhere: one may hold a hundred events, and an event of a megabyte comes in many chunks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import orjson

from kubeloop.apimachinery.errors import ApiError, Expired, from_status
from kubeloop.apimachinery.meta import Object
from kubeloop.client.unmanaged import event_unmanaged

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"


class WatchEvent(NamedTuple):
    """One event; of a BOOKMARK, only `object.metadata.resourceVersion` means something."""

    type: str
    object: Object


class LineSplitter:
    """Puts lines together from chunks, copying every byte at most twice."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []  # the line under way; the server's size limit of an object bounds it

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._pending:
            complete[0] = b"".join(self._pending) + complete[0]
            self._pending.clear()
        if rest:
            self._pending.append(rest)
        return complete


async def decode_events(
    chunks: AsyncIterator[bytes], managed_fields: bool = True
) -> AsyncIterator[Sequence[WatchEvent]]:
    """The events of each chunk, in order. An ERROR event is raised once those before it are out.

    Without `managed_fields` objects come without metadata.managedFields.
    """
    decode = orjson.loads if managed_fields else event_unmanaged
    lines = LineSplitter()
    async for chunk in chunks:
        events: list[WatchEvent] = []
        for line in lines.feed(chunk):
            if not line.strip():
                continue
            raw = decode(line)
            event = WatchEvent(raw["type"], raw["object"])
            if event.type == ERROR:
                if events:
                    yield events
                raise error_of(event.object)
            events.append(event)
        if events:
            yield events


def error_of(status: dict[str, Any]) -> ApiError:
    """The error an ERROR event carries."""
    return as_expired(from_status(status.get("code") or 500, orjson.dumps(status)))


def as_expired(error: ApiError) -> ApiError:
    """Whatever has code 410 is Expired to a watcher: the reason of old may also be "Gone"."""
    if error.code == Expired.code and not isinstance(error, Expired):
        return Expired(error.message, details=error.details)
    return error
