"""The bytes of watch events."""

from __future__ import annotations

import orjson

from apiserver.storage.interface import Change, Key, Stored, encode_body
from apiserver.watch.events import EventEncoding

KEY = Key("pods", "default", "web")
HEAD = b'{"kind":"Pod","apiVersion":"v1",'


def a_stored(revision: int, text: str) -> Stored:
    return Stored(KEY, revision, encode_body({"metadata": {"name": "web"}, "data": {"text": text}}), {}, {})


def test_an_event_is_one_line_of_json() -> None:
    """ADDED and MODIFIED show the new version with its own revision, opened by the head."""
    change = Change(7, KEY, a_stored(7, "new"), a_stored(3, "old"))

    line = EventEncoding().encode(change, "MODIFIED", HEAD)

    shown = {"metadata": {"resourceVersion": "7", "name": "web"}, "data": {"text": "new"}}
    assert {"type": "MODIFIED", "object": {"kind": "Pod", "apiVersion": "v1", **shown}} == orjson.loads(line)
    assert b"\n" == line[-1:]
    assert 1 == line.count(b"\n")


def test_deleted_shows_the_last_state_at_the_revision_of_the_change() -> None:
    """So it is for a deletion, and for an object that leaves a selector."""
    encoding = EventEncoding()
    gone = encoding.encode(Change(7, KEY, None, a_stored(3, "old")), "DELETED")
    left = encoding.encode(Change(8, KEY, a_stored(8, "new"), a_stored(3, "old")), "DELETED")

    shown = [orjson.loads(line)["object"] for line in (gone, left)]

    assert ["old", "old"] == [obj["data"]["text"] for obj in shown]
    assert ["7", "8"] == [obj["metadata"]["resourceVersion"] for obj in shown]


def test_watchers_share_one_encoding() -> None:
    """Asked again for the same change, type and head it answers the same bytes object; else another."""
    encoding = EventEncoding()
    change = Change(7, KEY, a_stored(7, "new"), a_stored(3, "old"))

    first = encoding.encode(change, "MODIFIED", HEAD)

    assert first is encoding.encode(change, "MODIFIED", HEAD)
    assert first != encoding.encode(change, "ADDED", HEAD)
    assert first != encoding.encode(change, "MODIFIED")


def test_it_remembers_only_so_many() -> None:
    """Full, it drops the oldest encoding, which is then made again."""
    encoding = EventEncoding(max_remembered=2)
    changes = [Change(revision, KEY, a_stored(revision, "x"), None) for revision in (1, 2, 3)]

    first, second, _ = [encoding.encode(change, "ADDED") for change in changes]

    assert second is encoding.encode(changes[1], "ADDED")
    assert first is not encoding.encode(changes[0], "ADDED")
    assert first == encoding.encode(changes[0], "ADDED")
