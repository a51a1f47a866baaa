"""What is remembered of converted objects, and who waits for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from apiserver.registry.custom import versioning
from apiserver.registry.custom.shown_objects import ShownObjects
from apiserver.storage.interface import Key, Stored
from kubeloop.apimachinery.errors import ApiError


def stored(revision: int, size: int = 10) -> Stored:
    return Stored(Key("routes.example.com", "default", f"r{revision}"), revision, b"x" * size, {}, {})


class Maker:
    """Makes objects when told to go on; `calls` are the revisions asked for."""

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[list[int]] = []
        self.may_go_on = asyncio.Event()
        self._fails = fails

    async def make(self, items: Sequence[Stored]) -> Sequence[Stored]:
        self.calls.append([one.revision for one in items])
        await self.may_go_on.wait()
        if self._fails:
            raise ApiError("cannot", code=500)
        return items


def test_the_oldest_are_forgotten_when_there_is_no_more_room() -> None:
    """What is asked for again then is made again; a list longer than the memory is complete all the same."""

    async def check() -> list[list[int]]:
        maker = Maker()
        maker.may_go_on.set()
        shown = ShownObjects(maker.make, max_bytes=30)
        many = [stored(revision) for revision in range(1, 6)]
        assert many == list(await shown.of(many))
        await shown.of(many[2:])
        await shown.of(many[:1])
        return maker.calls

    assert [[1, 2, 3, 4, 5], [1]] == asyncio.run(check())


def test_a_dry_run_is_not_taken_for_what_it_was_tried_on() -> None:
    """It has another body at the same revision."""

    async def check() -> list[int]:
        maker = Maker()
        maker.may_go_on.set()
        shown = ShownObjects(maker.make)
        return [len((await shown.of([stored(1, size)]))[0].body) for size in (10, 20, 10)]

    assert [10, 20, 10] == asyncio.run(check())


def test_who_wants_more_asks_for_the_rest_only() -> None:
    """A reader of three, of which two are being made, has the third made and waits."""

    async def check() -> list[list[int]]:
        maker = Maker()
        shown = ShownObjects(maker.make)
        readers = [asyncio.create_task(shown.of([stored(r) for r in wanted])) for wanted in ((1, 2), (1, 2, 3))]
        await asyncio.sleep(0)
        maker.may_go_on.set()
        await asyncio.gather(*readers)
        return maker.calls

    assert [[1, 2], [3]] == asyncio.run(check())


def test_a_reader_that_leaves_takes_nobody_along() -> None:
    """Where the one who asked is cancelled, the next one asks."""

    async def check() -> list[list[int]]:
        maker = Maker()
        shown = ShownObjects(maker.make)
        first, second = (asyncio.create_task(shown.of([stored(1)])) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        maker.may_go_on.set()
        assert [stored(1)] == list(await second)
        return maker.calls

    assert [[1], [1]] == asyncio.run(check())


def test_a_refusal_is_shared_where_it_is_about_one_object() -> None:
    """A hundred who wait for one that cannot be made ask once."""

    async def check() -> tuple[list[list[int]], set[str]]:
        maker = Maker(fails=True)
        shown = ShownObjects(maker.make)
        readers = [asyncio.create_task(shown.of([stored(1)])) for _ in range(100)]
        await asyncio.sleep(0)
        maker.may_go_on.set()
        outcomes = await asyncio.gather(*readers, return_exceptions=True)
        return maker.calls, {str(outcome) for outcome in outcomes}

    assert ([[1]], {"cannot"}) == asyncio.run(check())


def test_one_is_not_refused_for_what_another_reader_wanted_besides() -> None:
    """Where several were asked for together, whoever wants fewer tries for himself."""

    async def check() -> list[list[int]]:
        maker = Maker(fails=True)
        shown = ShownObjects(maker.make)
        readers = [asyncio.create_task(shown.of([stored(r) for r in wanted])) for wanted in ((1, 2), (1,))]
        await asyncio.sleep(0)
        maker.may_go_on.set()
        await asyncio.gather(*readers, return_exceptions=True)
        return maker.calls

    assert [[1, 2], [1]] == asyncio.run(check())


def test_reviews_are_bounded_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that is larger than the bound goes alone."""
    monkeypatch.setattr(versioning, "MAX_OBJECTS_IN_REVIEW", 3)
    monkeypatch.setattr(versioning, "MAX_BYTES_IN_REVIEW", 100)
    sizes = [10, 10, 10, 10, 95, 200, 50, 50, 1]

    chunks = versioning._chunks([stored(revision, size) for revision, size in enumerate(sizes, 1)])

    assert [[10, 10, 10], [10], [95], [200], [50, 50], [1]] == [[len(one.body) for one in chunk] for chunk in chunks]
