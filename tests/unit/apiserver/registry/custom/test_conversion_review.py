"""What a conversion webhook may answer, and what is said where it answers something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.registry.custom.conversion_review import (
    INVALID_OBJECT,
    MALFORMED,
    PARTIAL,
    ConversionFailure,
    converted_objects,
    review_of,
)
from kubeloop.apimachinery.meta import Object, deep_copy

ABOUT = "conversion webhook for example.com/v1, Kind=Route"
ROUTE: Object = {
    "apiVersion": "example.com/v1",
    "kind": "Route",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "generation": 3, "labels": {"a": "b"}},
    "spec": {"host": "h"},
}


def answered(edit: Callable[[Object], Any] = lambda answer: None, review_version: str = "v1") -> list[Object]:
    """What comes of an honest answer after `edit`."""
    sent = review_of([ROUTE], "example.com/v2", [review_version], "uid-1")
    objects = [{**deep_copy(ROUTE), "apiVersion": "example.com/v2"}]
    response = {"uid": "uid-1", "convertedObjects": objects, "result": {"status": "Success"}}
    answer = {"apiVersion": sent["apiVersion"], "kind": sent["kind"], "response": response}
    edit(answer)
    return converted_objects(answer, sent)


def edit_object(edit: Callable[[Object], Any]) -> Callable[[Object], Any]:
    return lambda answer: edit(answer["response"]["convertedObjects"][0])


def test_labels_and_annotations_are_taken_and_other_metadata_restored() -> None:
    """A webhook may relabel an object; whatever else it does to metadata is undone, and to the rest is its business."""

    def edit(obj: Object) -> None:
        obj["metadata"] |= {"labels": {"x": "y"}, "annotations": {"n": "1"}, "generation": 9, "finalizers": ["f"]}
        obj["spec"] = {"other": True}

    (route,) = answered(edit_object(edit))

    assert {**ROUTE["metadata"], "labels": {"x": "y"}, "annotations": {"n": "1"}} == route["metadata"]
    assert {"other": True} == route["spec"]


def test_labels_that_are_left_out_are_gone() -> None:
    (route,) = answered(edit_object(lambda obj: obj["metadata"].pop("labels")))

    assert "labels" not in route["metadata"]


def test_a_review_of_v1beta1_is_read_less_strictly() -> None:
    """Its uid and its version were never looked at."""
    (route,) = answered(lambda answer: (answer["response"].pop("uid"), answer.pop("kind")), "v1beta1")

    assert "example.com/v2" == route["apiVersion"]


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (
            lambda answer: answer.update(apiVersion="", kind=""),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
        ),
        (lambda answer: answer.pop("response"), "no response provided"),
        (lambda answer: answer["response"].update(uid="x"), 'expected response.uid="uid-1", got "x"'),
        (
            lambda answer: answer["response"].update(result={"status": "Failure", "message": "cannot do that"}),
            "cannot do that",
        ),
        (
            lambda answer: answer["response"].update(result={"status": "Failure"}),
            "response.result.status was 'Failure', not 'Success'",
        ),
        (lambda answer: answer["response"].pop("result"), "response.result.status was '', not 'Success'"),
    ],
)
def test_an_answer_that_failed_or_is_none(edit: Callable[[Object], Any], text: str) -> None:
    """Upstream's words for each, behind whose conversion it was."""
    with pytest.raises(ConversionFailure) as caught:
        answered(edit)

    assert (f"{ABOUT} failed: {text}", MALFORMED) == (str(caught.value), caught.value.kind)


def test_as_many_objects_must_come_back_as_went_out() -> None:
    with pytest.raises(ConversionFailure) as caught:
        answered(lambda answer: answer["response"].update(convertedObjects=None))

    assert (f"{ABOUT} returned 0 objects, expected 1", PARTIAL) == (str(caught.value), caught.value.kind)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (
            lambda obj: obj.update(apiVersion="example.com/v3"),
            "invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)",
        ),
        (
            lambda obj: obj.update(kind="Way"),
            "invalid object at index 0: invalid kind (expected Route, received Way)",
        ),
        (lambda obj: obj["metadata"].update(name="b"), "invalid object: must have the same name: a != b"),
        (lambda obj: obj["metadata"].pop("namespace"), "invalid object: must have the same namespace: n != "),
        (lambda obj: obj["metadata"].update(uid="v"), "invalid object: must have the same UID: u != v"),
        (lambda obj: obj.pop("metadata"), "invalid object: must have the same name: a != "),
        (
            lambda obj: obj["metadata"].update(labels=["x"]),
            "invalid metadata: invalid metadata.labels of type []interface {} in converted object",
        ),
        (
            lambda obj: obj["metadata"].update(annotations={"n": 1}),
            "invalid metadata: metadata.annotations[n] must be a string, but is int64 in converted object",
        ),
        (
            lambda obj: obj["metadata"].update(annotations={"-n": "1"}),
            'invalid metadata: metadata.annotation: Invalid value: "-n": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ],
)
def test_an_object_that_may_not_be(edit: Callable[[Object], Any], text: str) -> None:
    """Another version, kind, name or namespace than asked for, or labels and annotations that are none."""
    with pytest.raises(ConversionFailure) as caught:
        answered(edit_object(edit))

    assert (f"{ABOUT} returned {text}", INVALID_OBJECT) == (str(caught.value), caught.value.kind)


def test_an_object_without_a_kind_is_quoted() -> None:
    with pytest.raises(ConversionFailure) as caught:
        answered(lambda answer: answer["response"].update(convertedObjects=[{"a": 1}]))

    assert "Object 'Kind' is missing in '{\"a\":1}'" == str(caught.value)
