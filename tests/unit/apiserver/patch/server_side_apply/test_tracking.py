"""What updates do to ownership: whoever changes a field owns it, alone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch.server_side_apply.comparison import compare
from apiserver.patch.server_side_apply.field_sets import FieldSet, difference, of_path, union
from apiserver.patch.server_side_apply.filters import EVERYTHING
from apiserver.patch.server_side_apply.managers import UPDATE, Entry, Managed, identity
from apiserver.patch.server_side_apply.shapes import UNKNOWN, Shape
from apiserver.patch.server_side_apply.tracking import Writer, stripped, track

Object = dict[str, Any]

VALUES = st.recursive(
    st.sampled_from(("x", "y", None)),
    lambda inner: st.dictionaries(st.sampled_from(("a", "b")), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.sampled_from(({"uid": "1"}, {"uid": "2"}, {}))}, optional={"spec": VALUES}
)
STEPS = st.sampled_from(("f:a", "f:b"))
SETS = st.lists(
    st.one_of(st.lists(STEPS, max_size=3).map(lambda steps: ("f:spec", *steps)), st.just(("f:metadata", "f:uid"))),
    max_size=3,
)
MANAGERS = ("kubelet", "kubectl")


class OneVersion:
    def shape(self, api_version: str) -> Shape:
        return UNKNOWN

    def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        return obj


def writer(manager: str) -> Writer:
    return Writer(identity(manager, UPDATE, "v1", ""), "v1", "now", EVERYTHING)


def fields_of(paths: list[tuple[str, ...]]) -> FieldSet:
    fields: FieldSet = {}
    for path in paths:
        fields = union(fields, of_path(*path))
    return fields


def plainly(old: Object, new: Object, managed: Managed, by: Writer) -> Managed:
    """Nobody keeps what changed or went; the writer gets what changed."""
    found = compare(UNKNOWN, old, new)
    left = {
        who: entry._replace(fields=difference(difference(entry.fields, found.changed), found.removed))
        for who, entry in managed.items()
    }
    rest = {who: entry if left[who].fields == entry.fields else left[who] for who, entry in managed.items()}
    rest = {who: entry for who, entry in rest.items() if entry.fields}
    gained = stripped(found.changed)
    if not gained:
        return rest
    before = rest.get(by.identity)
    return {**rest, by.identity: Entry("v1", union(before.fields, gained) if before else gained, "now")}


@given(OBJECTS, OBJECTS, st.dictionaries(st.sampled_from(MANAGERS), SETS, max_size=2))
def test_who_writes_what_he_owns_owns_what_he_owned(old: Object, new: Object, had: dict[str, Any]) -> None:
    """The quick ways, for a writer who owned it all and for those whom it does not concern, come to the same."""
    managed = {writer(name).identity: Entry("v1", fields_of(paths), "before") for name, paths in had.items() if paths}

    for manager in MANAGERS:
        by = writer(manager)
        assert plainly(old, new, managed, by) == track(old, new, managed, by, OneVersion())


def test_a_renewal_changes_a_time_and_nothing_else() -> None:
    """The set of fields is the very one that was there: it is not made anew."""
    by = writer("kubelet")
    fields = {"f:spec": {"f:holder": {}, "f:renewTime": {}}}
    old, new = ({"spec": {"holder": "n", "renewTime": time}} for time in ("1", "2"))

    tracked = track(old, new, {by.identity: Entry("v1", fields, "before")}, by, OneVersion())

    assert {by.identity: Entry("v1", fields, "now")} == tracked
    assert tracked[by.identity].fields is fields
