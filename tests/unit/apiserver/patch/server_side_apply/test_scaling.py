"""Ownership of replicas on its way into a Scale and back."""

from __future__ import annotations

from apiserver.patch.server_side_apply.managers import APPLY, UPDATE, Entry, Managed, identity
from apiserver.patch.server_side_apply.scaling import SCALE_VERSION, to_parent, to_scale

ONE = identity("one", APPLY, "apps/v1", "")
HAND = identity("hand", UPDATE, "apps/v1", "")
SCALER = identity("scaler", UPDATE, SCALE_VERSION, "scale")
REPLICAS = {"f:spec": {"f:replicas": {}}}
PATHS = {"apps/v1": ("f:spec", "f:replicas")}
PARENT: Managed = {
    ONE: Entry("apps/v1", {"f:spec": {"f:replicas": {}, "f:selector": {}}}, "2024-01-01T00:00:00Z"),
    HAND: Entry("apps/v1", {"f:spec": {"f:paused": {}}}, "2024-01-01T00:00:00Z"),
}


def test_owners_of_replicas_go_along() -> None:
    """Only who owns replicas appears in the Scale, with that field and the Scale's version."""
    assert {ONE: Entry(SCALE_VERSION, REPLICAS, "2024-01-01T00:00:00Z")} == to_scale(PARENT, PATHS)


def test_a_scaler_takes_replicas_from_the_applier() -> None:
    """The applier keeps its other fields; the scaler owns replicas in the workload's version, without a time."""
    after = to_parent(PARENT, {SCALER: Entry(SCALE_VERSION, REPLICAS, "2024-02-02T00:00:00Z")}, PATHS, "apps/v1")

    assert {
        ONE: Entry("apps/v1", {"f:spec": {"f:selector": {}}}, "2024-01-01T00:00:00Z"),
        HAND: PARENT[HAND],
        identity("scaler", UPDATE, "apps/v1", "scale"): Entry("apps/v1", REPLICAS, ""),
    } == after


def test_without_a_change_nothing_moves() -> None:
    """Entries that come back as they went leave the workload's as they were."""
    assert PARENT == to_parent(PARENT, to_scale(PARENT, PATHS), PATHS, "apps/v1")


def test_entries_of_unknown_versions_are_dropped() -> None:
    """A version the kind is not served in any more has no replicas to be found."""
    assert ({}, {}) == (to_scale(PARENT, {}), to_parent(PARENT, {}, {}, "apps/v1"))


def test_each_version_has_its_own_place_for_replicas() -> None:
    """An owner in another version is found where that version keeps replicas, and one of a version without is left."""
    old, none = identity("old", UPDATE, "g/v1", ""), identity("none", UPDATE, "g/v0", "")
    parent: Managed = {old: Entry("g/v1", {"f:size": {}}, "t"), none: Entry("g/v0", {"f:size": {}}, "t")}
    paths = {"g/v0": (), "g/v1": ("f:size",), "g/v2": ("f:spec", "f:replicas")}

    scale = to_scale(parent, paths)
    after = to_parent(parent, {SCALER: Entry(SCALE_VERSION, REPLICAS, "t")}, paths, "g/v2")

    assert {old: Entry(SCALE_VERSION, REPLICAS, "t")} == scale
    assert {none: parent[none], identity("scaler", UPDATE, "g/v2", "scale"): Entry("g/v2", REPLICAS, "")} == after
