"""Pages of a list are the list at the first page's revision, whatever is written while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.memory import MemoryStorage
from tests.properties.histories import HISTORIES, Playground, Step
from tests.properties.live import Live, live, tried


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with live(MemoryStorage) as running:
        yield running


@tried(25)
@given(
    before=HISTORIES,
    meanwhile=HISTORIES,
    limit=st.integers(1, 5),
    selector=st.sampled_from(("", ",app=web", ",app!=db")),
)
def test_joined_pages_are_the_list(
    server: Live, before: list[Step], meanwhile: list[Step], limit: int, selector: str
) -> None:
    """Every page but the last is full and says how many remain where nothing is selected; all name one revision."""

    async def read() -> None:
        playground = Playground(server)
        await playground.prepare()
        for step in before:
            await playground.play(step)
        path = f"/api/v1/configmaps?labelSelector=tag={playground.tag}{selector}"
        whole = (await server.call("GET", path))["items"]
        writes = iter(meanwhile)
        pages: list[Any] = [await server.call("GET", f"{path}&limit={limit}")]
        while token := pages[-1]["metadata"].get("continue"):
            assert len(pages) <= len(whole), "pages without end"
            for step in [step for _, step in zip(range(3), writes, strict=False)]:
                await playground.play(step)
            pages.append(await server.call("GET", f"{path}&limit={limit}&continue={token}"))

        assert whole == [item for page in pages for item in page["items"]]
        assert 1 == len({page["metadata"]["resourceVersion"] for page in pages})
        assert all(len(page["items"]) == limit for page in pages[:-1])

    server.run(read())


@tried(15)
@given(before=HISTORIES, limit=st.integers(1, 4))
def test_what_remains_is_counted(server: Live, before: list[Step], limit: int) -> None:
    """Without a selector each page tells how many objects come after it."""

    async def read() -> None:
        playground = Playground(server)
        await playground.prepare()
        for step in before:
            await playground.play(step)
        whole, seen, token = (await server.call("GET", playground.path(0)))["items"], 0, ""
        while True:
            page = await server.call("GET", f"{playground.path(0)}?limit={limit}&continue={token}")
            seen += len(page["items"])
            assert page["metadata"].get("remainingItemCount", 0) == len(whole) - seen
            token = page["metadata"].get("continue", "")
            if not token:
                return

    server.run(read())
