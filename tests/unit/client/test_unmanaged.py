"""Leaving managedFields out undecoded gives what decoding everything and dropping them gives."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.client import unmanaged
from kubeloop.client.unmanaged import event_unmanaged, object_unmanaged

# Texts that look like what is searched for, and like ends of strings, lists and objects.
TEXTS = st.text(st.sampled_from(['"', "\\", "[", "]", "{", "}", ",", ":", "a", "\n"]), max_size=8) | st.sampled_from(
    ["managedFields", '"managedFields":[{', '"managedFields":0', "}]", '}],"', '":0}']
)
KEYS = TEXTS | st.sampled_from(["metadata", "managedFields", "object", "f:spec"])
ENTRIES = st.lists(st.dictionaries(KEYS, TEXTS | st.dictionaries(KEYS, TEXTS, max_size=3), max_size=3), max_size=3)
VALUES = st.recursive(
    TEXTS | st.integers(0, 2) | ENTRIES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """With metadata somewhere among other fields, and managedFields somewhere among those of metadata."""
    metadata = list(draw(st.dictionaries(KEYS, VALUES, max_size=3)).items())
    if draw(st.booleans()):
        metadata.insert(draw(st.integers(0, len(metadata))), ("managedFields", draw(ENTRIES)))
    fields = list(draw(st.dictionaries(KEYS, VALUES, max_size=3)).items())
    fields.insert(draw(st.integers(0, len(fields))), ("metadata", dict(metadata)))
    return dict(fields)


def plain(obj: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(obj["metadata"], dict):
        return obj
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


@given(objects().filter(lambda obj: isinstance(obj["metadata"], dict) and obj["metadata"].get("managedFields") != 0))
def test_they_are_left_out_and_nothing_else(obj: dict[str, Any]) -> None:
    """Whatever strings, keys and lists there are beside them and in them."""
    event = {"type": "ADDED", "object": obj}

    assert plain(obj) == object_unmanaged(orjson.dumps(obj))
    assert {"type": "ADDED", "object": plain(obj)} == event_unmanaged(orjson.dumps(event))


def test_those_of_a_pod_are_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One decoding is enough, of a text without them."""
    decoded: list[bytes] = []

    def loads(text: bytes) -> Any:
        decoded.append(text)
        return orjson.loads(text)

    class Orjson:
        JSONDecodeError = orjson.JSONDecodeError

    monkeypatch.setattr(Orjson, "loads", staticmethod(loads), raising=False)
    monkeypatch.setattr(unmanaged, "orjson", Orjson)
    entry = {"manager": "kubectl", "fieldsV1": {"f:status": {'k:{"type":"Ready"}': {}}}}
    pod = {"metadata": {"name": "a", "managedFields": [entry, entry]}, "spec": {"nodeName": "n"}}

    assert {"metadata": {"name": "a"}, "spec": {"nodeName": "n"}} == object_unmanaged(orjson.dumps(pod))
    assert [False] == [b"kubectl" in text for text in decoded]


@pytest.mark.parametrize("text", [b'{"metadata":{"managedFields":[{', b'{"metadata":{"managedFields":[{}]', b""])
def test_half_a_text_is_no_object(text: bytes) -> None:
    """It is refused as orjson refuses it."""
    with pytest.raises(orjson.JSONDecodeError):
        object_unmanaged(text)
