"""What every `Storage` must do, as its interface promises. A storage is tested by a subclass that opens one.

Each test runs in an event loop of its own, on a fresh storage that is closed afterwards.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apiserver.storage.interface import (
    Change,
    Compacted,
    Key,
    KeyExists,
    RevisionMismatch,
    Storage,
    StorageUnavailable,
    Stored,
    Value,
    Write,
    encode_body,
)


def a_key(name: str = "web", namespace: str = "default", resource: str = "pods") -> Key:
    return Key(resource, namespace, name)


def a_value(text: str = "", **labels: str) -> Value:
    body = encode_body({"metadata": {"name": "web"}, "data": {"text": text}})
    return Value(body, labels, {"spec.nodeName": text})


def create(key: Key, value: Value | None = None) -> Write:
    return Write(key, 0, value if value is not None else a_value())


def put(key: Key, text: str = "", expected: int | None = None, **labels: str) -> Write:
    return Write(key, expected, a_value(text, **labels))


def heartbeat(key: Key, text: str, **labels: str) -> Write:
    body = encode_body({"metadata": {"name": "web"}, "data": {"text": text}})
    return Write(key, None, Value(body, labels, {}), keep_history=False)


def delete(key: Key, expected: int | None = None) -> Write:
    return Write(key, expected, None)


def text_of(stored: Stored | None) -> str | None:
    return stored.object()["data"]["text"] if stored else None


def steps(changes: object) -> list[tuple[int, str, str | None, str | None]]:
    """(revision, name, text before, text after) of each change."""
    assert isinstance(changes, list | tuple)
    return [(c.revision, c.key.name, text_of(c.previous), text_of(c.current)) for c in changes]


class StorageSuite:
    """Subclasses say how to open the storage under test."""

    def open(self, directory: Path) -> Storage:
        raise NotImplementedError

    @asynccontextmanager
    async def opened(self, directory: Path) -> AsyncIterator[Storage]:
        storage = self.open(directory)
        await storage.start()
        try:
            yield storage
        finally:
            await storage.close()

    def run(self, directory: Path, test: Callable[[Storage], Awaitable[None]]) -> None:
        async def main() -> None:
            async with self.opened(directory) as storage:
                await test(storage)

        asyncio.run(main())

    # Writing

    def test_an_empty_storage_is_at_revision_zero(self, tmp_path: Path) -> None:
        """Nothing written: head 0, nothing there, nothing compacted."""

        async def test(storage: Storage) -> None:
            snapshot = await storage.snapshot()
            changes = await storage.changes_after(0, 10)

            assert (0, 0) == (storage.head, storage.compacted)
            assert (0, []) == (snapshot[0], list(snapshot[1]))
            assert [] == list(changes)

        self.run(tmp_path, test)

    def test_revisions_count_changes_from_one(self, tmp_path: Path) -> None:
        """Creation, update and deletion of any object each take the next revision."""

        async def test(storage: Storage) -> None:
            changes = [
                await storage.write(create(a_key("a"))),
                await storage.write(create(a_key("b", resource="nodes"))),
                await storage.write(put(a_key("a"), "new", expected=1)),
                await storage.write(delete(a_key("b", resource="nodes"), expected=2)),
            ]

            assert [1, 2, 3, 4] == [change.revision for change in changes]
            assert 4 == storage.head

        self.run(tmp_path, test)

    def test_a_change_carries_what_it_replaced(self, tmp_path: Path) -> None:
        """Created has no previous, deleted no current, and the versions are those written."""

        async def test(storage: Storage) -> None:
            created = await storage.write(create(a_key(), a_value("one", app="web")))
            updated = await storage.write(put(a_key(), "two", expected=1))
            deleted = await storage.write(delete(a_key(), expected=2))

            value, key = a_value("one", app="web"), a_key()
            first = Stored(key, 1, value.body, value.labels, value.fields)
            second = Stored(key, 2, a_value("two").body, {}, {"spec.nodeName": "two"})
            assert Change(1, key, first, None) == created
            assert Change(2, key, second, first) == updated
            assert Change(3, key, None, second) == deleted

        self.run(tmp_path, test)

    def test_creating_what_exists_is_refused(self, tmp_path: Path) -> None:
        """expected=0 on a key that is there raises KeyExists and changes nothing."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key(), a_value("one")))

            with pytest.raises(KeyExists):
                await storage.write(create(a_key(), a_value("two")))

            assert 1 == storage.head
            assert ["one"] == [text_of(stored) for stored in (await storage.snapshot())[1]]

        self.run(tmp_path, test)

    def test_a_stale_write_is_refused_with_the_current_version(self, tmp_path: Path) -> None:
        """Update and deletion with another revision than the current raise RevisionMismatch, which carries it."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key(), a_value("one")))
            await storage.write(put(a_key(), "two"))

            for stale in (put(a_key(), "three", expected=1), delete(a_key(), expected=1), put(a_key(), expected=9)):
                with pytest.raises(RevisionMismatch) as caught:
                    await storage.write(stale)
                assert "two" == text_of(caught.value.current)

            assert 2 == storage.head

        self.run(tmp_path, test)

    def test_what_is_absent_has_no_revision_to_match(self, tmp_path: Path) -> None:
        """Updating or deleting an absent key raises RevisionMismatch with current None."""

        async def test(storage: Storage) -> None:
            for write in (put(a_key(), expected=1), delete(a_key(), expected=1), delete(a_key())):
                with pytest.raises(RevisionMismatch) as caught:
                    await storage.write(write)
                assert caught.value.current is None

            assert 0 == storage.head

        self.run(tmp_path, test)

    def test_expecting_nothing_writes_whatever_is_there(self, tmp_path: Path) -> None:
        """expected=None creates, replaces and deletes."""

        async def test(storage: Storage) -> None:
            created = await storage.write(put(a_key(), "one"))
            replaced = await storage.write(put(a_key(), "two"))
            deleted = await storage.write(delete(a_key()))

            assert [(1, "web", None, "one"), (2, "web", "one", "two"), (3, "web", "two", None)] == steps(
                [created, replaced, deleted]
            )

        self.run(tmp_path, test)

    def test_a_deleted_key_may_be_created_again(self, tmp_path: Path) -> None:
        """The new object has no previous version."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key()))
            await storage.write(delete(a_key()))

            again = await storage.write(create(a_key(), a_value("again")))

            assert [(3, "web", None, "again")] == steps([again])

        self.run(tmp_path, test)

    def test_keys_differ_by_resource_namespace_and_name(self, tmp_path: Path) -> None:
        """Equal names in other namespaces or resources are other objects."""

        async def test(storage: Storage) -> None:
            keys = [a_key(), a_key(namespace="other"), a_key(resource="deployments.apps"), a_key("api")]

            for key in keys:
                await storage.write(create(key))

            assert set(keys) == {stored.key for stored in (await storage.snapshot())[1]}

        self.run(tmp_path, test)

    # Concurrent writers

    def test_concurrent_writers_are_answered_in_revision_order(self, tmp_path: Path) -> None:
        """Each of many writers gets its own revision, without gaps, and the earlier revision is answered first."""

        async def test(storage: Storage) -> None:
            answered: list[int] = []

            async def writer(i: int) -> None:
                for j in range(10):
                    answered.append((await storage.write(create(a_key(f"{i}-{j}")))).revision)

            await asyncio.gather(*(writer(i) for i in range(30)))
            logged = [change.revision for change in await storage.changes_after(0, 1000)]

            assert list(range(1, 301)) == answered
            assert answered == logged

        self.run(tmp_path, test)

    def test_one_of_many_equal_writes_wins(self, tmp_path: Path) -> None:
        """Of writers that expect the same revision exactly one succeeds: no update is lost."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key(), a_value("0")))

            async def increment() -> None:
                revision, text = 1, "0"
                while True:
                    try:
                        await storage.write(put(a_key(), str(int(text) + 1), expected=revision))
                    except RevisionMismatch as error:
                        assert error.current is not None
                        revision, text = error.current.revision, text_of(error.current) or ""
                    else:
                        return

            await asyncio.gather(*(increment() for _ in range(20)))

            assert "20" == text_of((await storage.snapshot())[1][0])
            assert 21 == storage.head

        self.run(tmp_path, test)

    def test_writes_to_one_key_may_share_a_commit(self, tmp_path: Path) -> None:
        """Writes that arrive together apply one after the other, each on what the ones before it left."""

        async def test(storage: Storage) -> None:
            writes = [create(a_key(), a_value("one")), put(a_key(), "two", expected=1), delete(a_key(), expected=2)]
            writes += [create(a_key(), a_value("three")), put(a_key("api"), "other"), put(a_key(), "four", expected=4)]

            changes = await asyncio.gather(*map(storage.write, writes))

            expected = [(1, "web", None, "one"), (2, "web", "one", "two"), (3, "web", "two", None)]
            expected += [(4, "web", None, "three"), (5, "api", None, "other"), (6, "web", "three", "four")]
            assert expected == steps(changes)
            assert expected == steps(await storage.changes_after(0, 10))
            assert {"four", "other"} == {text_of(stored) for stored in (await storage.snapshot())[1]}

        self.run(tmp_path, test)

    def test_a_refused_write_fails_only_its_caller(self, tmp_path: Path) -> None:
        """Others of the same commit succeed, and the refused ones take no revision."""

        async def test(storage: Storage) -> None:
            writes = [create(a_key("a")), create(a_key("a")), put(a_key("b"), expected=7), create(a_key("c"))]

            results = await asyncio.gather(*map(storage.write, writes), return_exceptions=True)

            assert [Change, KeyExists, RevisionMismatch, Change] == [type(result) for result in results]
            assert ["a", "c"] == [change.key.name for change in await storage.changes_after(0, 10)]
            assert 2 == storage.head

        self.run(tmp_path, test)

    def test_a_caller_that_gives_up_disturbs_nobody(self, tmp_path: Path) -> None:
        """A cancelled write is either stored or not; those that came with it are."""

        async def test(storage: Storage) -> None:
            tasks = [asyncio.ensure_future(storage.write(create(a_key(str(i))))) for i in range(5)]
            await asyncio.sleep(0)
            tasks[2].cancel()

            results = await asyncio.gather(*tasks, return_exceptions=True)

            assert isinstance(results[2], asyncio.CancelledError)
            others = {result.key.name for result in results if isinstance(result, Change)}
            assert {"0", "1", "3", "4"} == others
            assert others <= {stored.key.name for stored in (await storage.snapshot())[1]}

        self.run(tmp_path, test)

    # Reading the log

    def test_changes_come_in_pieces_in_order(self, tmp_path: Path) -> None:
        """changes_after answers at most `limit` changes, the oldest first, and nothing beyond the head."""

        async def test(storage: Storage) -> None:
            for i in range(5):
                await storage.write(put(a_key(), str(i)))

            assert [(2, "web", "0", "1"), (3, "web", "1", "2")] == steps(await storage.changes_after(1, 2))
            assert [(4, "web", "2", "3"), (5, "web", "3", "4")] == steps(await storage.changes_after(3, 10))
            assert [] == list(await storage.changes_after(5, 10))
            assert [] == list(await storage.changes_after(99, 10))

        self.run(tmp_path, test)

    def test_waiting_for_changes_ends_with_the_next_commit(self, tmp_path: Path) -> None:
        """It returns at once if there is something newer already, else after the next write."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key("a")))
            await storage.wait_for_changes(0)
            waiting = asyncio.ensure_future(storage.wait_for_changes(1))
            await asyncio.sleep(0)
            was_done = waiting.done()

            await storage.write(create(a_key("b")))
            await waiting

            assert not was_done
            assert 2 == storage.head

        self.run(tmp_path, test)

    def test_a_range_is_what_a_snapshot_was(self, tmp_path: Path) -> None:
        """range_at(r) equals what was there at r, for every r of a random history, also after a restart."""

        async def test(storage: Storage) -> None:
            random_writes = random.Random(7)
            seen: dict[int, list[Stored]] = {0: []}
            for _ in range(200):
                key = a_key(f"n{random_writes.randrange(12)}", f"ns{random_writes.randrange(2)}")
                write = delete(key) if random_writes.random() < 0.3 else put(key, str(random_writes.random()))
                try:
                    await storage.write(write)
                except RevisionMismatch:
                    continue
                seen[storage.head] = sorted((await storage.snapshot())[1], key=lambda stored: stored.key.path)

            for _ in range(2):
                for revision, expected in seen.items():
                    assert expected == list(await storage.range_at("pods", "", revision))
                    in_namespace = [stored for stored in expected if stored.key.namespace == "ns1"]
                    assert in_namespace == list(await storage.range_at("pods", "ns1", revision))
                await storage.close()
                await storage.start()

        self.run(tmp_path, test)

    def test_a_range_is_in_the_order_of_paths(self, tmp_path: Path) -> None:
        """As in etcd, namespace `a-b` comes before namespace `a`, and other resources are left out."""

        async def test(storage: Storage) -> None:
            for key in (a_key("x", "a"), a_key("x", "a-b"), a_key("a", "a"), a_key("x", "a", "nodes")):
                await storage.write(create(key))

            found = await storage.range_at("pods", "", storage.head)

            assert [("a-b", "x"), ("a", "a"), ("a", "x")] == [(s.key.namespace, s.key.name) for s in found]

        self.run(tmp_path, test)

    # Restart

    def test_everything_is_there_after_a_restart(self, tmp_path: Path) -> None:
        """Head, objects and log are the same, and the next revision follows the last."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key(), a_value("one", app="web")))
            await storage.write(put(a_key(), "two"))
            await storage.write(create(a_key("gone")))
            await storage.write(delete(a_key("gone")))
            before = storage.head, await storage.snapshot(), list(await storage.changes_after(0, 10))

            await storage.close()
            await storage.start()

            after = storage.head, await storage.snapshot(), list(await storage.changes_after(0, 10))
            assert before == after
            assert 5 == (await storage.write(put(a_key(), "three", expected=2))).revision

        self.run(tmp_path, test)

    def test_closing_finishes_the_writes_under_way(self, tmp_path: Path) -> None:
        """What was given to write before close is stored; afterwards a write is refused."""

        async def test(storage: Storage) -> None:
            writing = [asyncio.ensure_future(storage.write(create(a_key(str(i))))) for i in range(50)]
            await asyncio.sleep(0)
            await storage.close()

            changes = await asyncio.gather(*writing)
            with pytest.raises(StorageUnavailable):
                await storage.write(create(a_key("late")))

            await storage.start()
            assert list(range(1, 51)) == [change.revision for change in changes]
            assert 50 == len((await storage.snapshot())[1])

        self.run(tmp_path, test)

    # Compaction

    def test_compaction_forgets_the_past_and_keeps_the_present(self, tmp_path: Path) -> None:
        """Before the compaction point nothing is answered; from it on everything is as before, previous included."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key("old"), a_value("old")))
            for text in ("one", "two", "three", "four"):
                await storage.write(put(a_key(), text))
            await storage.write(create(a_key("gone")))
            await storage.write(delete(a_key("gone")))
            at_point = list(await storage.range_at("pods", "", 4))
            later = list(await storage.changes_after(4, 10))
            before = await storage.snapshot()

            await storage.compact(4)

            for _ in range(2):
                with pytest.raises(Compacted) as caught:
                    await storage.changes_after(3, 10)
                with pytest.raises(Compacted):
                    await storage.range_at("pods", "", 3)
                assert (3, 4) == (caught.value.revision, caught.value.oldest)
                assert 4 == storage.compacted
                assert at_point == list(await storage.range_at("pods", "", 4))
                assert later == list(await storage.changes_after(4, 10))
                assert before == await storage.snapshot()
                await storage.close()
                await storage.start()

        self.run(tmp_path, test)

    def test_the_revision_counter_survives_compaction(self, tmp_path: Path) -> None:
        """Even where nothing is left, the next revision after a restart follows the last one ever given."""

        async def test(storage: Storage) -> None:
            await storage.write(create(a_key()))
            await storage.write(delete(a_key()))
            await storage.compact(2)

            await storage.close()
            await storage.start()

            assert (2, 2) == (storage.head, storage.compacted)
            assert 3 == (await storage.write(create(a_key()))).revision

        self.run(tmp_path, test)

    def test_compaction_goes_neither_back_nor_beyond_the_head(self, tmp_path: Path) -> None:
        """An older point changes nothing; one in the future compacts to the head."""

        async def test(storage: Storage) -> None:
            for i in range(3):
                await storage.write(put(a_key(), str(i)))

            await storage.compact(2)
            await storage.compact(1)
            first = storage.compacted
            await storage.compact(99)

            assert (2, 3) == (first, storage.compacted)
            assert [] == list(await storage.changes_after(3, 10))

        self.run(tmp_path, test)

    def test_compaction_of_a_long_log_lets_writers_in(self, tmp_path: Path) -> None:
        """Compaction goes in steps: a write that comes meanwhile does not wait for its end."""

        async def test(storage: Storage) -> None:
            for i in range(40):
                await asyncio.gather(*(storage.write(put(a_key(str(j)), str(i))) for j in range(100)))
            compacting = asyncio.ensure_future(storage.compact(4000))
            await asyncio.sleep(0)

            await storage.write(put(a_key("meanwhile")))
            was_compacting = not compacting.done()
            await compacting

            assert was_compacting
            assert 4000 == storage.compacted
            assert 101 == len((await storage.snapshot())[1])

        self.run(tmp_path, test)

    def test_a_read_that_meets_compaction_is_right_or_refused(self, tmp_path: Path) -> None:
        """Reads of the past that compaction overtakes raise Compacted; they never answer with a part of the truth."""

        async def test(storage: Storage) -> None:
            for i in range(300):
                await storage.write(put(a_key(str(i % 10)), str(i)))
            await storage.close()
            await storage.start()
            whole = {revision: list(await storage.range_at("pods", "", revision)) for revision in (50, 250)}
            logged = list(await storage.changes_after(50, 1000))

            compacting = [storage.compact(200), storage.compact(100)]
            reading = [storage.range_at("pods", "", 50), storage.range_at("pods", "", 250)]
            reading.append(storage.changes_after(50, 1000))
            results = (await asyncio.gather(*compacting, *reading, return_exceptions=True))[2:]

            for expected, result in zip((whole[50], whole[250], logged), results, strict=True):
                assert isinstance(result, Compacted) or expected == list(result)
            await storage.close()
            await storage.start()
            assert 200 == storage.compacted
            assert logged[150:] == list(await storage.changes_after(200, 1000))

        self.run(tmp_path, test)

    # Writes that leave no history

    def test_heartbeats_do_not_grow_the_log(self, tmp_path: Path) -> None:
        """Of many keep_history=False writes the log keeps the newest, linked to what was there before them."""

        async def test(storage: Storage) -> None:
            await storage.write(Write(a_key(), 0, Value(a_value("created").body, {}, {})))
            for i in range(50):
                await storage.write(heartbeat(a_key(), str(i)))
            await storage.close()
            await storage.start()

            logged = await storage.changes_after(0, 100)

            assert [(1, "web", None, "created"), (51, "web", "created", "49")] == steps(logged)
            assert 51 == storage.head
            assert ["49"] == [text_of(stored) for stored in await storage.range_at("pods", "", 51)]

        self.run(tmp_path, test)

    def test_a_change_that_selectors_can_see_is_never_forgotten(self, tmp_path: Path) -> None:
        """A heartbeat that changes a label stays in the log, so a watch with a selector sees it come and go."""

        async def test(storage: Storage) -> None:
            await storage.write(heartbeat(a_key(), "0"))
            for text, labels in (("1", {}), ("2", {"on": "yes"}), ("3", {"on": "yes"}), ("4", {}), ("5", {})):
                await storage.write(heartbeat(a_key(), text, **labels))
            await storage.close()
            await storage.start()

            logged = await storage.changes_after(0, 100)

            seen = [(text_of(c.current), dict(c.current.labels)) for c in logged if c.current]
            assert ("2", {"on": "yes"}) in seen and ("4", {}) in seen

        self.run(tmp_path, test)

    def test_a_deletion_shows_the_last_heartbeat(self, tmp_path: Path) -> None:
        """The deletion's previous version is the newest, which the log keeps for it."""

        async def test(storage: Storage) -> None:
            for i in range(5):
                await storage.write(heartbeat(a_key(), str(i)))
            await storage.write(delete(a_key()))
            await storage.close()
            await storage.start()

            logged = await storage.changes_after(0, 100)

            assert (6, "web", "4", None) == steps(logged)[-1]

        self.run(tmp_path, test)

    def test_heartbeats_that_share_a_commit_leave_one_version(self, tmp_path: Path) -> None:
        """Forgetting works within a commit too, and compaction after it."""

        async def test(storage: Storage) -> None:
            await storage.write(Write(a_key(), 0, Value(a_value("created").body, {}, {})))
            await asyncio.gather(*(storage.write(heartbeat(a_key(), str(i))) for i in range(9)))
            await asyncio.gather(*(storage.write(heartbeat(a_key(), str(i))) for i in range(9, 20)))
            await storage.compact(15)
            await storage.close()
            await storage.start()

            logged = await storage.changes_after(15, 100)

            assert [(21, "web", "created", "19")] == steps(logged)

        self.run(tmp_path, test)

    def test_heartbeats_keep_the_version_at_the_compaction_point(self, tmp_path: Path) -> None:
        """What compaction left of a key is not forgotten after it: the log goes on from there."""

        async def test(storage: Storage) -> None:
            await storage.write(Write(a_key(), 0, Value(a_value("created").body, {}, {})))
            await storage.write(heartbeat(a_key(), "at the point"))
            await asyncio.gather(storage.compact(2), *(storage.write(heartbeat(a_key(), str(i))) for i in range(3)))
            await storage.write(heartbeat(a_key(), "newest"))
            await storage.close()
            await storage.start()

            logged = await storage.changes_after(2, 100)

            assert [(6, "web", "at the point", "newest")] == steps(logged)
            assert ["at the point"] == [text_of(stored) for stored in await storage.range_at("pods", "", 2)]

        self.run(tmp_path, test)

    def test_the_log_leads_from_any_past_to_the_present(self, tmp_path: Path) -> None:
        """After any writes, heartbeats, compactions and restarts: whoever replays the log finds what he expects.

        From the objects at a revision on, every change replaces what is there, and the end is the present.
        """

        async def replayed(storage: Storage, since: int) -> dict[Key, Stored]:
            state = {stored.key: stored for stored in await storage.range_at("pods", "", since)}
            for change in await storage.changes_after(since, 10_000):
                assert state.get(change.key) == change.previous
                if change.current is None:
                    del state[change.key]
                else:
                    state[change.key] = change.current
            return state

        async def test(storage: Storage) -> None:
            rng = random.Random(11)
            for _ in range(40):
                writes = []
                for _ in range(rng.randrange(1, 12)):
                    key, labels = a_key(str(rng.randrange(5))), {"on": rng.choice("ab")} if rng.random() < 0.1 else {}
                    write = [heartbeat, heartbeat, heartbeat, put][rng.randrange(4)](key, str(rng.random()), **labels)
                    writes.append(storage.write(delete(key) if rng.random() < 0.05 else write))
                if rng.random() < 0.3:
                    writes.append(storage.compact(storage.head - rng.randrange(10)))
                await asyncio.gather(*writes, return_exceptions=True)
                if rng.random() < 0.2:
                    await storage.close()
                    await storage.start()

            await storage.close()
            await storage.start()
            present = {stored.key: stored for stored in (await storage.snapshot())[1]}
            for since in range(storage.compacted, storage.head + 1):
                assert present == await replayed(storage, since)

        self.run(tmp_path, test)
