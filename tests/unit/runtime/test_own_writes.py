"""What a loop sees of an object it has written itself."""

import pytest

from kubeloop.apimachinery.meta import Object, ObjectKey, resource_version_of
from kubeloop.runtime.own_writes import MAX_REMEMBERED, OwnWrites


def version(number: int) -> Object:
    return {"metadata": {"name": "web", "namespace": "default", "resourceVersion": str(number)}}


@pytest.mark.parametrize(
    ("writes", "cached", "seen"),
    [
        ([], 1, 1),
        ([(1, 2)], 1, 2),
        ([(1, 2)], 2, 2),
        ([(1, 2), (2, 3)], 1, 3),
        ([(1, 2), (2, 3)], 2, 3),
        ([(1, 3)], 2, 2),
        ([(1, 2)], 5, 5),
        ([(1, 2), (5, 6)], 1, 1),
        ([(1, 2), (5, 6)], 5, 6),
        ([(1, 1)], 1, 1),
    ],
    ids=[
        "nothing written",
        "the cache is behind",
        "the cache has caught up",
        "two writes behind",
        "one of two behind",
        "somebody wrote between",
        "somebody wrote afterwards",
        "a write that did not build on ours: the first is forgotten",
        "a write that did not build on ours",
        "a write that changed nothing",
    ],
)
def test_the_newest_version_known_is_seen(writes: list[tuple[int, int]], cached: int, seen: int) -> None:
    """Ours where the cache shows what it replaced, else what the cache shows."""
    own = OwnWrites()
    for before, after in writes:
        own.wrote(version(before), version(after))

    assert str(seen) == resource_version_of(own.latest(version(cached)))


def test_a_deleted_object_is_forgotten() -> None:
    """One of the same name starts afresh."""
    own = OwnWrites()
    own.wrote(version(1), version(2))

    own.forget(ObjectKey("default", "web"))

    assert "1" == resource_version_of(own.latest(version(1)))


def test_the_memory_is_bounded() -> None:
    """Of more objects than it holds the oldest are forgotten; the newest is not."""
    own = OwnWrites()

    def written(i: int, number: int) -> Object:
        return {"metadata": {"name": f"web-{i}", "resourceVersion": str(number)}}

    for i in range(MAX_REMEMBERED + 1):
        own.wrote(written(i, 1), written(i, 2))

    seen = [resource_version_of(own.latest(written(i, 1))) for i in (0, 1, MAX_REMEMBERED)]
    assert ["1", "2", "2"] == seen
