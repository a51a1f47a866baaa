"""Tables and metadata-only objects."""

import pytest

from apiserver.printing.cells import NAME, PLAIN_COLUMNS
from apiserver.printing.table import Column, partial_metadata, partial_metadata_list, table
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.times import parse_time

NOW = parse_time("2026-01-02T00:00:00Z")
A = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "uid": "1"}, "data": {"k": "dg=="}}
B = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "b", "uid": "2"}}


def test_rows_carry_metadata_of_their_objects() -> None:
    """A table has the list's metadata, its columns, and a row an object with PartialObjectMetadata."""
    made = table((NAME,), [A], {"resourceVersion": "7"}, NOW)

    expected = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "7"},
        "columnDefinitions": [
            {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        ],
        "rows": [
            {
                "cells": ["a"],
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {"name": "a", "uid": "1"},
                },
            }
        ],
    }
    assert expected == made


@pytest.mark.parametrize(("include", "expected"), [("Object", A), ("None", None)])
def test_include_object_chooses_what_rows_carry(include: str, expected: object) -> None:
    """includeObject=Object shows the whole object, None none of it."""
    made = table((NAME,), [A], {}, NOW, include_object=include)

    assert expected == made["rows"][0]["object"]


def test_an_unknown_include_object_is_a_bad_request() -> None:
    """The refusal names the values there are."""
    with pytest.raises(BadRequest) as refusal:
        table((NAME,), [], {}, NOW, include_object="Some")

    expected = (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Some": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
    assert expected == refusal.value.message


def test_later_events_of_a_watch_have_no_column_definitions() -> None:
    """headers=False leaves null, not an empty list, and the old version is written where asked for."""
    made = table((NAME,), [A], {}, NOW, headers=False, version="v1beta1")

    assert (None, "meta.k8s.io/v1beta1") == (made["columnDefinitions"], made["rows"][0]["object"]["apiVersion"])


def test_a_column_can_order_the_rows() -> None:
    """Rows follow the column that has an order instead of the list."""
    column = Column("N", "integer", lambda obj, now: 0, order=lambda obj: -int(obj["metadata"]["uid"]))

    made = table((NAME, column), [A, B], {}, NOW)

    assert ["b", "a"] == [row["cells"][0] for row in made["rows"]]


def test_a_kind_without_a_printer_shows_when_it_was_created() -> None:
    """Created At is the time itself; a bookmark, which has none, shows Go's zero time."""
    created = {"metadata": {"name": "r", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    made = table(PLAIN_COLUMNS, [created, {"metadata": {}}], {}, NOW)

    expected = [["r", "2026-01-01T00:00:00Z"], ["", "0001-01-01T00:00:00Z"]]
    assert expected == [row["cells"] for row in made["rows"]]


def test_a_list_can_be_metadata_only() -> None:
    """partial_metadata_list drops all but metadata."""
    made = partial_metadata_list([A, B], {"resourceVersion": "9"})

    assert ["a", "b"] == [item["metadata"]["name"] for item in made["items"]]
    assert {"kind", "apiVersion", "metadata"} == set(made["items"][0])


def test_a_whole_object_is_shown_in_the_version_asked_for() -> None:
    """Cells come from the stored object, the object beside them from its conversion."""
    made = table((NAME,), [A], {}, NOW, include_object="Object", convert=lambda obj: {**obj, "converted": True})
    untouched = table((NAME,), [A], {}, NOW, convert=lambda obj: {})

    assert (["a"], {**A, "converted": True}) == (made["rows"][0]["cells"], made["rows"][0]["object"])
    assert "a" == untouched["rows"][0]["object"]["metadata"]["name"]


def test_metadata_alone_leaves_out_a_daemon_sets_old_field() -> None:
    """The template generation is an annotation of the whole object, not of its metadata."""
    name = "deprecated.daemonset.template.generation"
    only = {"metadata": {"name": "ds", "annotations": {name: "1"}}}
    more = {"metadata": {"name": "ds", "annotations": {name: "1", "a": "b"}}}

    assert {"name": "ds"} == partial_metadata(only)["metadata"]
    assert {"name": "ds", "annotations": {"a": "b"}} == partial_metadata(more)["metadata"]
