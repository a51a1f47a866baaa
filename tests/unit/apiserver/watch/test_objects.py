"""The sorted objects of one resource."""

from __future__ import annotations

import random

from apiserver.storage.interface import Key, Stored
from apiserver.watch.objects import SortedObjects


def a_stored(namespace: str, name: str, revision: int = 1) -> Stored:
    return Stored(Key("pods", namespace, name), revision, b"", {}, {})


def names(objects: SortedObjects, namespace: str = "") -> list[str]:
    return [stored.key.path for stored in objects.list(namespace)]


def test_a_namespace_is_listed_without_its_neighbours() -> None:
    """Namespaces that begin alike do not mix, and the order is etcd's: `a-b/x` before `a/x`."""
    paths = [("a", "x"), ("a-b", "x"), ("a0", "x"), ("ab", "x"), ("a", "a")]

    objects = SortedObjects([a_stored(*path) for path in paths])

    assert ["a-b/x", "a/a", "a/x", "a0/x", "ab/x"] == names(objects)
    assert ["a/a", "a/x"] == names(objects, "a")
    assert ["a-b/x"] == names(objects, "a-b")
    assert [] == names(objects, "b")


def test_any_history_keeps_order_and_lookup() -> None:
    """After any puts and removals, lists are sorted and complete, and get finds the newest version."""
    rng = random.Random(3)
    objects, expected = SortedObjects(), dict[Key, Stored]()

    for revision in range(500):
        stored = a_stored(rng.choice("ab"), str(rng.randrange(40)), revision)
        if rng.random() < 0.4:
            objects.remove(stored.key)
            expected.pop(stored.key, None)
        else:
            objects.put(stored)
            expected[stored.key] = stored

    assert sorted(expected.values(), key=lambda stored: stored.key.path) == objects.list()
    assert all(stored is objects.get(key) for key, stored in expected.items())
    assert len(expected) == len(objects)


def test_a_list_does_not_change_afterwards() -> None:
    """What was listed stays as it was when objects come and go."""
    objects = SortedObjects([a_stored("a", "x")])

    listed = objects.list()
    objects.put(a_stored("a", "y"))
    objects.remove(Key("pods", "a", "x"))

    assert ["a/x"] == [stored.key.path for stored in listed]


def test_other_versions_make_another_collection() -> None:
    """with_versions replaces, removes and adds; the original stays."""
    objects = SortedObjects([a_stored("a", "x"), a_stored("a", "y")])
    older, back = a_stored("a", "x", 0), a_stored("a", "b")

    changed = objects.with_versions({older.key: older, Key("pods", "a", "y"): None, back.key: back})

    assert [back, older] == changed.list()
    assert ["a/x", "a/y"] == names(objects)
