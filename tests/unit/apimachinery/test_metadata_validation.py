"""What metadata may say on creation and on update."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import metadata_validation, validation


def creation(**metadata: Any) -> list[str]:
    """What is said about a new namespaced object with this metadata."""
    obj = {"metadata": {"name": "a", "namespace": "default", **metadata}}
    return [str(error) for error in metadata_validation.create_errors(obj, namespaced=True)]


def update(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    common = {"name": "a", "resourceVersion": "1"}
    errors = metadata_validation.update_errors({"metadata": {**common, **new}}, {"metadata": {**common, **old}})
    return [str(error) for error in errors]


def test_good_metadata_passes() -> None:
    """Labels, annotations, finalizers and owners as everybody uses them raise no error."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}

    found = creation(
        labels={"app": "web", "example.com/tier": ""},
        annotations={"UPPER/Fine": "any text at all"},
        finalizers=["example.com/keep"],
        ownerReferences=[owner],
        managedFields=[{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1"}],
    )

    assert [] == found


OWNERS = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
GOOD = st.fixed_dictionaries(
    {"name": st.sampled_from(("a", "b")), "namespace": st.just("default"), "resourceVersion": st.just("1")},
    optional={
        "generateName": st.just("a-"),
        "generation": st.sampled_from((1, 2)),
        "labels": st.sampled_from(({"app": "web"}, {"app": "web", "tier": "db"}, {})),
        "annotations": st.sampled_from(({"a": "b"}, {})),
        "ownerReferences": st.just(OWNERS),
        "finalizers": st.just(["example.com/keep"]),
        "managedFields": st.just([{"operation": "Apply"}]),
    },
)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(("a", "/", "")),
        "namespace": st.sampled_from(("A", "")),
        "generateName": st.just("/"),
        "generation": st.just(-1),
        "labels": st.sampled_from(({"a b": "c"}, {"app": "-"}, {"app": "web"})),
        "annotations": st.just({"a b": "c"}),
        "ownerReferences": st.sampled_from((OWNERS * 2, [{}])),
        "finalizers": st.just(["a b"]),
        "managedFields": st.just([{"operation": "?"}]),
    },
)


@given(GOOD, CHANGES)
def test_what_an_object_has_of_a_good_one_is_good(known: dict[str, Any], changes: dict[str, Any]) -> None:
    """It is not looked at again, which comes to the same; and good labels are not looked at as a change again."""
    good, obj = {"metadata": known}, {"metadata": {**known, **changes}}
    errors = metadata_validation.create_errors(obj, namespaced=True)

    assert errors == metadata_validation.create_errors(obj, namespaced=True, known=good)
    assert errors or metadata_validation.update_errors(obj, good) == metadata_validation.update_errors(
        obj, good, has_good_parts=True
    )


def test_a_name_is_needed() -> None:
    """Without a name the error names both ways to give one."""
    assert ["metadata.name: Required value: name or generateName is required"] == creation(name="")


def test_the_kind_judges_the_name() -> None:
    """The name is held to the rule that the kind brings."""
    obj = {"metadata": {"name": "a.b"}}

    errors = metadata_validation.create_errors(obj, namespaced=False, name_errors=validation.dns_label_errors)

    assert ['metadata.name: Invalid value: "a.b": must not contain dots'] == [str(error) for error in errors]


def test_scope_decides_about_the_namespace() -> None:
    """A namespaced object needs a namespace, another must not have one."""
    cluster_scoped = metadata_validation.create_errors({"metadata": {"name": "a", "namespace": "x"}}, namespaced=False)

    assert ["metadata.namespace: Required value"] == creation(namespace="")
    assert ["metadata.namespace: Forbidden: not allowed on this type"] == [str(error) for error in cluster_scoped]


def test_annotations_are_limited_in_total() -> None:
    """All keys and values of annotations together have at most 256 KiB."""
    fits = {"a": "x" * (256 * 1024 - 1)}

    assert [] == creation(annotations=fits)
    assert ["metadata.annotations: Too long: may not be more than 262144 bytes"] == creation(
        annotations={**fits, "b": ""}
    )


def test_only_one_owner_controls() -> None:
    """Two controllers are one too many, and the error names both."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "pq"]

    found = creation(ownerReferences=owners)

    assert 1 == len(found)
    assert found[0].endswith('Found "true" in references for Pod/p and Pod/q')


def test_an_owner_must_be_identified() -> None:
    """An owner reference without uid or version is refused where the field is missing."""
    assert [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ] == creation(ownerReferences=[{"kind": "Pod", "name": "p"}])


def test_events_own_nothing() -> None:
    """An Event cannot be an owner."""
    event = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}

    assert creation(ownerReferences=[event])[0].endswith("/v1, Kind=Event is disallowed from being an owner")


def test_finalizers_of_built_in_kinds_have_a_domain() -> None:
    """Built-in kinds take the standard finalizers and those with a domain."""
    errors = metadata_validation.kube_finalizer_errors(["foregroundDeletion", "short", "example.com/a"])

    assert [
        'metadata.finalizers[1]: Invalid value: "short": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ] == [str(error) for error in errors]


def test_orphaning_and_foreground_deletion_exclude_each_other() -> None:
    """The two finalizers of the garbage collector cannot both be set."""
    found = creation(finalizers=["orphan", "foregroundDeletion"])

    assert found[0].endswith("finalizer orphan and foregroundDeletion cannot be both set")


def test_identity_and_times_are_immutable() -> None:
    """Name, uid and the times of an object never change by an update."""
    old = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}

    found = update({**old, "uid": "v", "deletionTimestamp": "2026-01-01T00:00:00Z"}, old)

    assert [
        'metadata.uid: Invalid value: "v": field is immutable',
        'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
    ] == found


def test_a_dying_object_takes_no_new_finalizers() -> None:
    """Once deletion has begun finalizers may only go."""
    old = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/a"]}

    assert [] == update({**old, "finalizers": []}, old)
    assert [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"x/b", "x/c"}'
    ] == update({**old, "finalizers": ["x/c", "x/a", "x/b"]}, old)


def test_an_update_names_the_version_it_is_based_on() -> None:
    """Without a resourceVersion the update is refused; generations never go down."""
    assert [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        "metadata.generation: Invalid value: 1: must not be decremented",
    ] == update({"resourceVersion": "", "generation": 1}, {"generation": 2})
