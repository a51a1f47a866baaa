"""JSON patch: the examples of RFC 6902, and where the real server goes its own way."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch import json_patch
from kubeloop.apimachinery.errors import BadRequest, Invalid, RequestEntityTooLarge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/~", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), JSON, max_size=4)
POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1", "~1", ""]), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": POINTERS},
    optional={"from": POINTERS, "value": JSON},
)


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"baz": "qux", "foo": "bar"}),
        ({"foo": ["a", "b"]}, {"op": "add", "path": "/foo/1", "value": "q"}, {"foo": ["a", "q", "b"]}),
        ({"baz": "q", "foo": "b"}, {"op": "remove", "path": "/baz"}, {"foo": "b"}),
        ({"foo": ["a", "q", "b"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["a", "b"]}),
        ({"baz": "q"}, {"op": "replace", "path": "/baz", "value": "boo"}, {"baz": "boo"}),
        (
            {"foo": {"bar": "b", "w": "f"}, "q": {"c": "g"}},
            {"op": "move", "from": "/foo/w", "path": "/q/t"},
            {"foo": {"bar": "b"}, "q": {"c": "g", "t": "f"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            {"op": "move", "from": "/foo/1", "path": "/foo/3"},
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        ({"foo": ["a", 2]}, {"op": "test", "path": "/foo/1", "value": 2}, {"foo": ["a", 2]}),
        ({"foo": "b"}, {"op": "add", "path": "/child", "value": {"g": {}}}, {"foo": "b", "child": {"g": {}}}),
        ({"foo": "b"}, {"op": "add", "path": "/baz", "value": "q", "xyz": 1}, {"foo": "b", "baz": "q"}),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
        ({"foo": ["b"]}, {"op": "add", "path": "/foo/-", "value": ["a"]}, {"foo": ["b", ["a"]]}),
    ],
)
def test_examples_of_rfc_6902(document: dict[str, Any], operation: dict[str, Any], expected: dict[str, Any]) -> None:
    """The RFC's examples give the RFC's results, and the document given stays as it was."""
    before = copy.deepcopy(document)

    assert expected == json_patch.apply(document, [operation])
    assert before == document


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "replace", "path": "/absent", "value": 1}, {"list": [1, 2], "absent": 1}),
        ({"op": "copy", "from": "/absent", "path": "/x"}, {"list": [1, 2], "x": None}),
        ({"op": "test", "path": "/absent", "value": None}, {"list": [1, 2]}),
        ({"op": "remove", "path": "/list/-1"}, {"list": [1]}),
        ({"op": "add", "path": "/list/-1", "value": 3}, {"list": [1, 2, 3]}),
        ({"op": "add", "path": "anything/x", "value": 3}, {"list": [1, 2], "x": 3}),
        ({"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}),
    ],
)
def test_where_the_server_is_laxer_than_the_rfc(operation: dict[str, Any], expected: Any) -> None:
    """Absent keys are null, positions may count from the end, what stands before the first slash does not count."""
    assert expected == json_patch.apply({"list": [1, 2]}, [operation])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "", "value": 5},
        {"op": "replace", "path": ""},
        {"op": "jump", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "/none/deeper", "value": 1},
        {"op": "add", "path": "/a/deeper", "value": 1},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/2"},
        {"op": "replace", "path": "/list/-3", "value": 1},
        {"op": "move", "from": "/none", "path": "/b"},
        {"op": "copy", "from": "/list/2", "path": "/b"},
        {"op": "test", "path": "/a", "value": True},
        {"op": "test", "path": "/a", "value": 1.0},
        {"op": "test", "path": "/a"},
    ],
)
def test_what_cannot_be_done_is_422(operation: dict[str, Any]) -> None:
    """Every failure while applying has the same answer, and nothing of the patch takes effect."""
    with pytest.raises(Invalid) as refused:
        json_patch.apply({"a": 1, "list": [1, 2]}, [{"op": "add", "path": "/b", "value": 1}, operation])

    assert {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    } == refused.value.to_status()


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"op": "add"}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        ([1], "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": "add", "path": 1}], "cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_list_of_operations_is_400(patch: Any, expected: str) -> None:
    """The shape of the patch is checked before anything is applied."""
    with pytest.raises(BadRequest) as refused:
        json_patch.apply({}, patch)

    assert f"error decoding patch: json: {expected}" == refused.value.message


def test_operations_are_limited() -> None:
    """More than ten thousand operations are too many."""
    with pytest.raises(RequestEntityTooLarge):
        json_patch.apply({}, [{"op": "test", "path": "/a", "value": None}] * 10_001)


def test_copies_are_limited() -> None:
    """Doubling a document again and again ends at three MiB."""
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40

    with pytest.raises(Invalid):
        json_patch.apply({"a": ["x" * 100]}, doubling)


def test_a_copy_beyond_the_limit_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large to be copied is refused by its size, before time goes into copying it."""
    copied: list[Any] = []

    def copying(value: Any) -> Any:
        copied.append(value)
        return copy.deepcopy(value)

    monkeypatch.setattr(json_patch, "deep_copy", copying)

    with pytest.raises(Invalid):
        json_patch.apply({"a": ["x" * json_patch.MAX_COPIED_BYTES]}, [{"op": "copy", "from": "/a", "path": "/b"}])

    assert len(copied) == 1  # the document itself


@given(OBJECTS, st.lists(OPERATIONS, max_size=4))
def test_any_operations_apply_or_are_refused(document: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    """No operation fails in another way than the announced one, and none changes the document given."""
    before = copy.deepcopy(document)

    with contextlib.suppress(Invalid):
        json_patch.apply(document, operations)

    assert before == document


@given(OBJECTS, st.text("ab/~", max_size=2), JSON)
def test_what_was_added_can_be_tested_and_removed(document: dict[str, Any], key: str, value: Any) -> None:
    """add, test and remove of one key leave the rest of the document as it was."""
    path = "/" + key.replace("~", "~0").replace("/", "~1")

    patched = json_patch.apply(
        document,
        [
            {"op": "add", "path": path, "value": value},
            {"op": "test", "path": path, "value": value},
            {"op": "remove", "path": path},
        ],
    )

    assert {k: v for k, v in document.items() if k != key} == patched


def test_copies_of_copies_do_not_nest_without_end() -> None:
    """An object copied into itself again and again is refused before it exhausts a stack."""
    value: Any = {}
    for _ in range(100):
        value = {"a": value}
    deeper = "/a" * 100 + "/b"
    operations = [{"op": "copy", "from": "/v", "path": "/v" + deeper * times} for times in (1, 2, 4, 8)]

    with pytest.raises(Invalid):
        json_patch.apply({"v": value}, operations)
