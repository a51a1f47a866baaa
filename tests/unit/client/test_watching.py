"""The byte stream of a watch, cut into chunks in every way a network may."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import orjson
import pytest

from kubeloop.apimachinery.errors import Expired, InternalError
from kubeloop.client.watching import WatchEvent, decode_events


def line(kind: str, name: str, **fields: object) -> bytes:
    return orjson.dumps({"type": kind, "object": {"metadata": {"name": name}, **fields}}) + b"\n"


async def stream(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def decode(chunks: Iterable[bytes]) -> list[WatchEvent]:
    async def collect() -> list[WatchEvent]:
        return [event async for batch in decode_events(stream(chunks)) for event in batch]

    return asyncio.run(collect())


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_chunk_borders_do_not_matter(size: int) -> None:
    """However the stream is cut, the same events come out in order."""
    text = line("ADDED", "a") + line("MODIFIED", "b") + b"\n" + line("DELETED", "c")

    events = decode(text[i : i + size] for i in range(0, len(text), size))

    assert [("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "c")] == [
        (e.type, e.object["metadata"]["name"]) for e in events
    ]


def test_a_large_line_arrives_whole() -> None:
    """An object of several megabytes is put together from its chunks."""
    text = line("ADDED", "big", data="x" * 3_000_000)

    events = decode(text[i : i + 65_536] for i in range(0, len(text), 65_536))

    assert [3_000_000] == [len(event.object["data"]) for event in events]


def test_a_line_without_end_is_no_event() -> None:
    """What a cut connection left unfinished is dropped."""
    assert ["a"] == [e.object["metadata"]["name"] for e in decode([line("ADDED", "a"), line("ADDED", "b")[:-1]])]


def test_an_error_comes_after_the_events_before_it() -> None:
    """An ERROR event is raised, and nothing that came before it is lost."""
    status = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "reason": "InternalError", "message": "boom"}}
    seen = []

    async def read() -> None:
        async for batch in decode_events(stream([line("ADDED", "a") + orjson.dumps(status) + b"\n"])):
            seen.extend(batch)

    with pytest.raises(InternalError, match="boom"):
        asyncio.run(read())

    assert ["a"] == [event.object["metadata"]["name"] for event in seen]


@pytest.mark.parametrize("reason", ["Expired", "Gone"])
def test_a_410_is_expired_whatever_its_reason(reason: str) -> None:
    """Both spellings of a forgotten version are the one error that makes a reflector list anew."""
    status = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": reason, "message": "too old"}}

    with pytest.raises(Expired, match="too old"):
        decode([orjson.dumps(status) + b"\n"])
