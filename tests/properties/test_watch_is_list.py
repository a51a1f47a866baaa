"""A watch and the lists tell one story: whoever follows the one has, at every revision, what the other shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.memory import MemoryStorage
from apiserver.storage.sqlite import SqliteStorage
from tests.properties.histories import HISTORIES, Playground, Step
from tests.properties.live import Live, Refused, live, tried

Object = dict[str, Any]
State = dict[tuple[str, str], Object]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with live(MemoryStorage) as running:
        yield running


class Scope:
    """What a list or watch is about: a path with its selectors."""

    def __init__(self, playground: Playground, kind: str) -> None:
        everything = f"/api/v1/configmaps?labelSelector=tag={playground.tag}"
        self.target = {
            "all": everything,
            "selected": f"{everything},app=web",
            "excluded": f"{everything},app!=db",
            "namespace": f"{playground.path(0)}?limit=500",
            "single": f"{everything}&fieldSelector=metadata.name!=b",
        }[kind]


SCOPES = st.sampled_from(("all", "selected", "excluded", "namespace", "single"))


async def listed_at(server: Live, scope: Scope, revision: int) -> State:
    exact = f"&resourceVersion={revision}&resourceVersionMatch=Exact"
    items = (await server.call("GET", scope.target + exact))["items"]
    return {key_of(item): item for item in items}


def key_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def is_end(event: Object) -> bool:
    obj = event["object"]
    row = obj["rows"][0]["object"] if obj.get("kind") == "Table" else obj
    return event["type"] != "BOOKMARK" and row["metadata"].get("name") == "end"


def revision_of(obj: Mapping[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def replayed(state: State, events: list[Object], revisions: range) -> Iterator[tuple[int, State]]:
    """The state after each revision. Fails where an event does not fit the state it comes upon, or its order."""
    waiting, last = [event for event in events if event["type"] != "BOOKMARK"], revisions.start - 1
    for revision in revisions:
        while waiting and revision_of(waiting[0]["object"]) <= revision:
            event = waiting.pop(0)
            obj, key = event["object"], key_of(event["object"])
            assert revision_of(obj) > last, "revisions grow from event to event"
            last = revision_of(obj)
            assert (key in state) == (event["type"] != "ADDED"), f"{event['type']} of {key}"
            if event["type"] == "DELETED":
                del state[key]
            else:
                state[key] = obj
        yield revision, dict(state)
    assert not waiting


def told_as_items(state: State) -> State:
    """Items of a list have no kind and apiVersion of their own; events' objects do."""
    return {key: {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for key, obj in state.items()}


async def compare(server: Live, scope: Scope, state: State, events: list[Object], revisions: range) -> None:
    for revision, expected in replayed(state, events, revisions):
        assert told_as_items(expected) == told_as_items(await listed_at(server, scope, revision))


@tried(15)
@given(history=HISTORIES, kind=SCOPES, start=st.floats(0, 1))
def test_a_watch_from_any_revision(server: Live, history: list[Step], kind: str, start: float) -> None:
    """From whatever revision a watch begins, the list there and its events make the list of every later one."""

    async def tell() -> None:
        playground = Playground(server)
        await playground.prepare()
        first = server.storage.head
        for step in history:
            await playground.play(step)
        last = int(await playground.end())
        since = first + int((last - first) * start)
        scope = Scope(playground, kind)
        watch = await server.watch(f"{scope.target}&watch=1&resourceVersion={since}")
        events = await watch.until(is_end) if since < last else []
        await compare(server, scope, await listed_at(server, scope, since), events, range(since + 1, last + 1))

    server.run(tell())


@tried(15)
@given(history=HISTORIES, kind=SCOPES, opened_at=st.integers(0, 20), how=st.sampled_from(("", "0", "initial")))
def test_a_watch_that_begins_with_what_there_is(
    server: Live, history: list[Step], kind: str, opened_at: int, how: str
) -> None:
    """Without a revision, from 0 and with sendInitialEvents a watch tells what there is, then misses nothing."""

    async def tell() -> None:
        playground = Playground(server)
        await playground.prepare()
        scope = Scope(playground, kind)
        for step in history[:opened_at]:
            await playground.play(step)
        opened = server.storage.head
        option = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        option = option if how == "initial" else f"resourceVersion={how}"
        watch = await server.watch(f"{scope.target}&watch=1&{option}")
        for step in history[opened_at:]:
            await playground.play(step)
        last = int(await playground.end())

        events = await watch.until(is_end)

        initial = await listed_at(server, scope, opened)
        begin, events = events[: len(initial)], events[len(initial) :]
        assert all(event["type"] == "ADDED" for event in begin)
        assert told_as_items({key_of(e["object"]): e["object"] for e in begin}) == told_as_items(initial)
        if how == "initial":
            mark = events.pop(0)
            assert ("BOOKMARK", str(opened)) == (mark["type"], mark["object"]["metadata"]["resourceVersion"])
            assert {"k8s.io/initial-events-end": "true"} == mark["object"]["metadata"]["annotations"]
        await compare(server, scope, dict(initial), events, range(opened + 1, last + 1))

    server.run(tell())


@tried(8)
@given(history=HISTORIES, kind=SCOPES)
def test_other_forms_tell_the_same(server: Live, history: list[Step], kind: str) -> None:
    """Tables and PartialObjectMetadata come event by event as the objects do."""

    async def tell() -> None:
        playground = Playground(server)
        await playground.prepare()
        scope, first = Scope(playground, kind), server.storage.head
        for step in history:
            await playground.play(step)
        await playground.end()

        target = f"{scope.target}&watch=1&resourceVersion={first}"
        plain = await (await server.watch(target)).until(is_end)
        tables = await (await server.watch(target, TABLE)).until(is_end)
        partial = await (await server.watch(target, PARTIAL)).until(is_end)

        expected = [(event["type"], event["object"]["metadata"]) for event in plain]
        assert expected == [(event["type"], event["object"]["rows"][0]["object"]["metadata"]) for event in tables]
        assert expected == [(event["type"], event["object"]["metadata"]) for event in partial]

    server.run(tell())


@tried(5)
@given(history=HISTORIES, kind=SCOPES, restarted_at=st.integers(0, 20))
def test_over_a_restart(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step], kind: str, restarted_at: int
) -> None:
    """A server that was stopped in the middle goes on where it was: its watch from before tells the same."""
    directory: Path = tmp_path_factory.mktemp("restart")
    with live(lambda: SqliteStorage(directory)) as server:

        async def tell() -> None:
            playground = Playground(server)
            await playground.prepare()
            scope, first = Scope(playground, kind), server.storage.head
            for step in history[:restarted_at]:
                await playground.play(step)
            before = server.storage.head
            kept = await listed_at(server, scope, before)
            await server.stop()
            await server.start()
            assert kept == await listed_at(server, scope, before)
            for step in history[restarted_at:]:
                await playground.play(step)
            last = int(await playground.end())

            events = await (await server.watch(f"{scope.target}&watch=1&resourceVersion={first}")).until(is_end)

            await compare(server, scope, {}, events, range(first + 1, last + 1))

        server.run(tell())


@tried(5)
@given(history=HISTORIES, kind=SCOPES, compacted=st.floats(0, 1))
def test_what_is_compacted_is_gone(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step], kind: str, compacted: float
) -> None:
    """A list or watch from before the compaction gets 410; from there on all is as it was.

    Started again, the server knows nothing from before but what its storage has kept.
    """
    directory: Path = tmp_path_factory.mktemp("compacted")
    with live(lambda: SqliteStorage(directory)) as server:

        async def tell() -> None:
            playground = Playground(server)
            await playground.prepare()
            scope, first = Scope(playground, kind), server.storage.head
            for step in history:
                await playground.play(step)
            last = int(await playground.end())
            oldest = first + int((last - 1 - first) * compacted)
            await server.storage.compact(oldest)
            await server.stop()
            await server.start()
            state = await listed_at(server, scope, oldest)

            events = await (await server.watch(f"{scope.target}&watch=1&resourceVersion={oldest}")).until(is_end)
            await compare(server, scope, state, events, range(oldest + 1, last + 1))

            with pytest.raises(Refused) as refused:
                await listed_at(server, scope, oldest - 1)
            assert 410 == refused.value.code
            (gone,) = await (await server.watch(f"{scope.target}&watch=1&resourceVersion={oldest - 1}")).until(is_end)
            assert ("ERROR", 410) == (gone["type"], gone["object"]["code"])

        server.run(tell())
