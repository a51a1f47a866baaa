"""Strategic merge patch: merge keys, sets and every directive."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch import list_order, restoring, strategic_merge, values
from apiserver.schema.nodes import TypeNode
from kubeloop.apimachinery.errors import ApiError, BadRequest, Invalid

TEXT = TypeNode(type="string", go_type="string")
NUMBER = TypeNode(type="integer", format="int32", go_type="int32")


def an_object(definition: str, /, **fields: TypeNode) -> TypeNode:
    return TypeNode(type="object", name=definition, go_type=definition, _source=lambda: fields)


def a_list(items: TypeNode, merge_key: str = "", *strategies: str) -> TypeNode:
    return TypeNode(type="list", items=items, merge_key=merge_key, patch_strategies=strategies)


ENV = an_object("v1.EnvVar", name=TEXT, value=TEXT)
CONTAINER = an_object("v1.Container", name=TEXT, image=TEXT, args=a_list(TEXT), env=a_list(ENV, "name", "merge"))
VOLUME = an_object("v1.Volume", name=TEXT, hostPath=an_object("v1.HostPath", path=TEXT), emptyDir=an_object("v1.Empty"))
POD = an_object(
    "v1.Pod",
    containers=a_list(CONTAINER, "name", "merge"),
    volumes=a_list(VOLUME, "name", "merge", "retainKeys"),
    finalizers=a_list(TEXT, "", "merge"),
    tolerations=a_list(ENV),
    labels=TypeNode(type="map", values=TEXT),
    seconds=NUMBER,
    strategy=TypeNode(type="object", _source=lambda: {"type": TEXT}, patch_strategies=("retainKeys",)),
)


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The patched document; the arguments must come out unchanged."""
    before = copy.deepcopy((document, patch))
    result = strategic_merge.apply(document, patch, POD)
    assert before == (document, patch)
    return result


def containers(*names: str) -> dict[str, Any]:
    return {"containers": [{"name": name} for name in names]}


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None}}, {"labels": {"b": "2"}}),
        ({"seconds": 1}, {"seconds": None}, {}),
        ({}, {"labels": {"a": None}}, {"labels": {}}),
        ({"tolerations": [{"name": "a"}]}, {"tolerations": [{"name": "b"}]}, {"tolerations": [{"name": "b"}]}),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["c", "a"]}, {"finalizers": ["c", "a", "b"]}),
        ({"seconds": 1}, None, {"seconds": 1}),
    ],
)
def test_maps_lists_and_nulls(document: Any, patch: Any, expected: Any) -> None:
    """Maps merge, null deletes, plain lists are replaced, and sets are united with what is new in front."""
    assert expected == apply(document, patch)


def test_items_are_matched_by_their_merge_key() -> None:
    """An item with a known key is merged into it, deeply; a new one goes in front."""
    document = {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}

    patched = apply(document, {"containers": [{"name": "a", "env": [{"name": "Y"}]}, {"name": "c"}]})

    assert {
        "containers": [
            {"name": "a", "image": "1", "env": [{"name": "Y"}, {"name": "X", "value": "1"}]},
            {"name": "c"},
            {"name": "b"},
        ]
    } == patched


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"containers": [{"name": "b", "$patch": "delete"}]}, containers("a", "c")),
        ({"containers": [{"name": "none", "$patch": "delete"}]}, containers("a", "b", "c")),
        ({"containers": [{"$patch": "replace"}, {"name": "z"}]}, containers("z")),
        ({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}, containers("b", "c", "a")),
        (
            {"$setElementOrder/containers": [{"name": "z"}, {"name": "a"}], "containers": [{"name": "z"}]},
            containers("z", "a", "b", "c"),
        ),
    ],
)
def test_directives_for_lists_of_objects(patch: Any, expected: Any) -> None:
    """Items are deleted, the list is replaced, or it is put in order around the items the patch does not know."""
    assert expected == apply(containers("a", "b", "c"), patch)


def test_a_rename_keeps_kubectl_s_order() -> None:
    """Where a patch deletes one item and adds another, the new one stands where the real server puts it."""
    patch = {
        "$setElementOrder/containers": [{"name": "b"}, {"name": "z"}],
        "containers": [{"name": "z"}, {"name": "a", "$patch": "delete"}],
    }

    assert containers("b", "d", "z") == apply(containers("a", "b", "d"), patch)


def test_delete_removes_every_duplicate() -> None:
    """Items of one key are deleted together."""
    assert containers("b") == apply(containers("a", "b", "a"), {"containers": [{"name": "a", "$patch": "delete"}]})


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$deleteFromPrimitiveList/finalizers": ["b", "none"]}, ["a"]),
        ({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"]),
        ({"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]}, ["c", "b", "a"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}, ["c", "b"]),
    ],
)
def test_directives_for_sets(patch: Any, expected: list[str]) -> None:
    """From sets of scalars members are taken out by a list beside them, and their order can be given."""
    assert expected == apply({"finalizers": ["a", "b"]}, patch)["finalizers"]


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ({"$patch": "replace", "only": "1"}, {"labels": {"only": "1"}}),
        ({"$patch": "delete"}, {"labels": {}}),
    ],
)
def test_directives_for_maps(directive: Any, expected: Any) -> None:
    """A map is replaced by, or emptied of, what stands beside the directive."""
    assert expected == apply({"labels": {"a": "1"}}, {"labels": directive})


def test_retain_keys_clears_the_rest_of_a_union() -> None:
    """Only the listed members of a volume survive."""
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}

    assert {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]} == apply(
        {"volumes": [{"name": "v", "emptyDir": {}}]}, patch
    )


def test_directives_for_what_is_not_there_leave_no_trace() -> None:
    """In a new map or list the directives themselves are dropped."""
    patch = {"labels": {"a": "1"}, "containers": [{"name": "a", "$patch": "delete"}, {"name": "b"}]}

    assert {"labels": {"a": "1"}, **containers("b")} == apply({}, patch)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"volumes": [{"name": "v", "$retainKeys": ["name"], "emptyDir": {}}]}, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": ["a"]}, "invalid patch format of primitive list"),
        ({"$setElementOrder": []}, "invalid patch format of setElementOrder list"),
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_malformed_directives_are_400(patch: Any, expected: str) -> None:
    """The client is told which directive is malformed."""
    with pytest.raises(BadRequest) as refused:
        apply({"volumes": [{"name": "v"}]}, patch)

    assert expected == refused.value.message


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"containers": [{"image": "x"}]}, "map: map[image:x] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "delete"}]}, "map: map[$patch:delete] does not contain declared merge key: name"),
        ({"labels": {"$patch": "up", "a": 1}}, "unknown patch type: up in map: map[$patch:up a:1]"),
        ({"containers": ["x"]}, "list element types are not identical: [[map[name:a]] [x]]"),
        (
            {"$setElementOrder/nope": []},
            'unable to find api field in struct Pod for the json field "nope"',
        ),
        (
            {"$setElementOrder/finalizers": ["b"], "finalizers": ["c"]},
            "The order in patch list:\n[c]\n doesn't match $setElementOrder list:\n[b]\n",
        ),
    ],
)
def test_what_the_real_server_does_not_foresee_is_500(patch: Any, expected: str) -> None:
    """Such patches are answered with 500 and the real message."""
    with pytest.raises(ApiError) as refused:
        apply({**containers("a"), "labels": {}}, patch)

    assert (500, "", expected) == (refused.value.code, refused.value.reason, refused.value.message)


def test_lists_of_lists_are_422() -> None:
    """Lists in a merging list are not supported."""
    with pytest.raises(Invalid):
        apply({"finalizers": []}, {"finalizers": [["a"]]})


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"containers": "x"}, "cannot restore slice from string"),
        ({"containers": {"name": "x"}}, "cannot restore slice from map"),
        ({"strategy": [1]}, "cannot restore struct from: slice"),
        ({"labels": 1.5}, "cannot restore map from float64"),
        ({"labels": {"a": 1}}, "cannot convert int64 to string"),
        ({"seconds": "x"}, "unrecognized type: int32"),
        ({"seconds": 1.5}, "cannot convert float64 to int32"),
    ],
)
def test_wrong_types_quote_the_patch(patch: Any, why: str) -> None:
    """What does not fit its type is refused in the words of Go's map reader, quoting the patch as Go prints it."""
    patched = apply({}, patch)

    with pytest.raises(Invalid) as refused:
        restoring.restored(patched, patch, POD)

    assert refused.value.message.startswith(' "" is invalid: patch: Invalid value: "map[')
    assert refused.value.message.endswith(why)


def test_what_fits_is_restored() -> None:
    """Null, whole floats and unknown fields are no misfits."""
    document = {"labels": None, "seconds": 2.0, "unknown": 1, **containers("a")}

    assert {**document, "seconds": 2} == restoring.restored(document, document, POD)


def test_what_the_patch_does_not_name_is_not_looked_at() -> None:
    """It was stored, so it fits; most patches name a small part of their object."""
    document = {"labels": 5, "seconds": 2}

    restoring.restored(document, {"seconds": 2}, POD)

    with pytest.raises(Invalid):
        restoring.restored(document, {"labels": 5}, POD)


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_patches_as_kubectl_makes_them_lead_from_old_to_new(old: list[str], new: list[str]) -> None:
    """A patch of additions, deletions and the wanted order, as kubectl computes it, gives exactly the wanted list."""
    added = [{"name": name, "image": "new"} for name in new if name not in old]
    deleted = [{"name": name, "$patch": "delete"} for name in old if name not in new]
    patch = {"$setElementOrder/containers": [{"name": name} for name in new], "containers": added + deleted}
    if not old and not new:
        return

    patched = apply(containers(*old), patch)

    assert new == [container["name"] for container in patched["containers"]]


@given(NAMES, NAMES)
def test_sets_are_united_and_thinned(old: list[str], new: list[str]) -> None:
    """The same holds for sets of scalars."""
    deleted = [name for name in old if name not in new]
    patch: dict[str, Any] = {"finalizers": [name for name in new if name not in old]}
    if deleted:
        patch["$deleteFromPrimitiveList/finalizers"] = deleted

    patched = apply({"finalizers": old}, patch)

    assert sorted(new) == sorted(patched["finalizers"])


MANY = 4000
OLD, NEW = ([f"{prefix}/{i}" for i in range(MANY)] for prefix in ("old", "new"))


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"finalizers": OLD}, {"finalizers": NEW}, {"finalizers": [*NEW, *OLD]}),
        ({"finalizers": OLD}, {"$deleteFromPrimitiveList/finalizers": OLD[::-1]}, {"finalizers": []}),
        ({"finalizers": OLD}, {"finalizers": NEW, "$setElementOrder/finalizers": NEW}, {"finalizers": [*NEW, *OLD]}),
        (containers(*OLD), containers(*NEW), containers(*NEW, *OLD)),
        (
            containers(*OLD),
            {"containers": [{"name": name, "$patch": "delete"} for name in OLD]},
            {"containers": []},
        ),
    ],
)
def test_long_lists_are_not_compared_item_by_item(
    document: dict[str, Any], patch: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparisons of two values do not grow faster than the lists."""
    compared: list[Any] = []

    def counted(left: Any, right: Any) -> bool:
        compared.append(left)
        return bool(left == right)

    for module in (values, list_order):
        monkeypatch.setattr(module, "is_same", counted)

    actual = apply(document, patch)

    assert (expected, True) == (actual, len(compared) <= 2 * MANY)


@pytest.mark.parametrize("wanted", [1, 1.0, True])
def test_merge_keys_differ_by_type(wanted: Any) -> None:
    """1, 1.0 and true are three names, of which a patch means one."""
    document = {"containers": [{"name": name} for name in (1, 1.0, True)]}

    merged = apply(document, {"containers": [{"name": wanted, "image": "i"}]})["containers"]
    left = apply(document, {"containers": [{"name": wanted, "$patch": "delete"}]})["containers"]

    assert [type(wanted)] == [type(item["name"]) for item in merged if "image" in item]
    assert [type_ for type_ in (int, float, bool) if type_ is not type(wanted)] == [type(item["name"]) for item in left]


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        ("int-or-string", True, "json: cannot unmarshal bool into Go value of type int32"),
        ("int-or-string", 1.5, "json: cannot unmarshal number 1.5 into Go value of type int32"),
        ("time", 5, "json: cannot unmarshal number into Go value of type string"),
        ("micro-time", {}, "json: cannot unmarshal object into Go value of type string"),
        ("bytes", "?", "error decoding from json: illegal base64 data at input byte 0"),
        ("bytes", 5, "cannot restore slice from int64"),
    ],
)
def test_types_that_read_themselves_refuse_in_their_own_words(type_: str, value: Any, why: str) -> None:
    """They are handed JSON and know nothing of the field they stand in."""
    node = an_object("v1.Thing", field=TypeNode(type=type_))

    with pytest.raises(Invalid) as refused:
        restoring.restored({"field": value}, {"field": value}, node)

    assert str(refused.value).endswith(f": {why}")


def test_whole_numbers_take_the_size_of_their_type() -> None:
    """Go converts them, and says nothing where one is too large."""
    document: dict[str, Any] = {"seconds": 2.0, "list": [4294967299, 1]}

    restored = restoring.restored(document, document, an_object("v1.Thing", seconds=NUMBER, list=a_list(NUMBER)))

    assert restored == {"seconds": 2, "list": [3, 1]}
    assert [int] == [type(restored["seconds"])]
    assert document == {"seconds": 2.0, "list": [4294967299, 1]}, "what was sent is quoted as it was"
