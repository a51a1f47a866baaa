"""Which changes pass which predicate: a table of additions, updates and deletions."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.predicates import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
    labels_match,
    not_,
    objects_that,
    only_when,
    passes_of,
    resource_version_changed,
)


def an_object(**metadata: object) -> Object:
    return {"metadata": {"name": "web", **metadata}}


PLAIN = an_object()
WEB, DB = an_object(labels={"app": "web"}), an_object(labels={"app": "db"})
OLD_SPEC, NEW_SPEC = an_object(generation=1), an_object(generation=2)
IS_WEB = objects_that(lambda obj: obj["metadata"].get("labels") == {"app": "web"})

ADDED, UPDATED, DELETED = (None, WEB), (WEB, WEB), (WEB, None)


@pytest.mark.parametrize(
    ("predicate", "change", "expected"),
    [
        # A function of (old, new) is asked about updates only.
        (generation_changed, (OLD_SPEC, NEW_SPEC), True),
        (generation_changed, (NEW_SPEC, an_object(generation=2, labels={"a": "b"})), False),
        (generation_changed, (None, NEW_SPEC), True),
        (generation_changed, (NEW_SPEC, None), True),
        (labels_changed, (WEB, DB), True),
        (labels_changed, (WEB, WEB), False),
        (annotations_changed, (PLAIN, an_object(annotations={"a": "b"})), True),
        (annotations_changed, (WEB, DB), False),
        (resource_version_changed, (an_object(resourceVersion="1"), an_object(resourceVersion="2")), True),
        (resource_version_changed, (WEB, DB), False),
        # One about objects is asked about everything, and sees one leave.
        (IS_WEB, (None, WEB), True),
        (IS_WEB, (None, DB), False),
        (IS_WEB, (WEB, None), True),
        (IS_WEB, (DB, None), False),
        (IS_WEB, (WEB, DB), True),
        (IS_WEB, (DB, WEB), True),
        (IS_WEB, (DB, DB), False),
        (labels_match("app in (web, proxy),tier!=back"), (None, WEB), True),
        (labels_match("app=web"), (DB, DB), False),
        # By the kind of change.
        (only_when(created=True), ADDED, True),
        (only_when(created=True), UPDATED, False),
        (only_when(created=True, deleted=True), DELETED, True),
        (only_when(updated=True), DELETED, False),
        # Put together.
        (all_of(generation_changed, IS_WEB), (None, DB), False),
        (all_of(generation_changed, IS_WEB), (WEB, WEB), False),
        (all_of(), UPDATED, True),
        (any_of(generation_changed, labels_changed), (WEB, DB), True),
        (any_of(generation_changed, labels_changed), UPDATED, False),
        (any_of(generation_changed, only_when(deleted=True)), (WEB, None), True),
        (not_(labels_changed), (WEB, DB), False),
        (not_(labels_changed), (None, DB), True),
        (not_(IS_WEB), (None, WEB), False),
        (not_(IS_WEB), (None, DB), True),
    ],
)
def test_which_changes_pass(predicate: Predicate, change: tuple[Object | None, Object | None], expected: bool) -> None:
    """Plain functions let additions and deletions pass; the others are asked about each change."""
    assert expected == passes_of(predicate)(*change)
