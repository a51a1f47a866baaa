"""Which changes a source lets through, or (given to a Controller) all of its sources.

Two kinds, freely mixed. A plain function of (old, new) asks what an update changed; additions and deletions pass it.
An `EventPredicate` is asked about those too, with no old or no new. A level-triggered loop stays right whatever is let
through: what a predicate keeps out is work, and what it must not keep out is a change that reconcile would act on.
"""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.apimachinery.meta import Object, annotations_of, generation_of, labels_of, resource_version_of
from kubeloop.client.store import LabelSelector

# An addition has no old object, a deletion no new one, an update both.
Passes = Callable[[Object | None, Object | None], bool]


class EventPredicate:
    """Decides over additions, updates and deletions."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes


Predicate = Callable[[Object, Object], bool] | EventPredicate


def generation_changed(old: Object, new: Object) -> bool:
    """The spec changed, or the deletion began; writes of status and metadata are left out.

    Not for kinds without a generation, such as ConfigMaps.
    """
    return generation_of(old) != generation_of(new)


def labels_changed(old: Object, new: Object) -> bool:
    return labels_of(old) != labels_of(new)


def annotations_changed(old: Object, new: Object) -> bool:
    return annotations_of(old) != annotations_of(new)


def resource_version_changed(old: Object, new: Object) -> bool:
    """Anything changed at all."""
    return resource_version_of(old) != resource_version_of(new)


def objects_that(test: Callable[[Object], bool]) -> EventPredicate:
    """Changes of objects that pass `test`, before the change or after it: so it is seen when one stops passing."""

    def passes(old: Object | None, new: Object | None) -> bool:
        return (new is not None and test(new)) or (old is not None and test(old))

    return EventPredicate(passes)


def labels_match(selector: str | LabelSelector) -> EventPredicate:
    """Changes of objects that `selector` ("app=web,tier!=db", or a parsed one) matches, before or after."""
    if isinstance(selector, str):
        from kubeloop.apimachinery.selector_text import parse  # 20 ms to import, for those who write one

        return labels_match(parse(selector))
    return objects_that(lambda obj: selector.matches(labels_of(obj)))


def only_when(*, created: bool = False, updated: bool = False, deleted: bool = False) -> EventPredicate:
    """Changes of these kinds. What was there before the controller started counts as created."""

    def passes(old: Object | None, new: Object | None) -> bool:
        if old is None:
            return created
        return deleted if new is None else updated

    return EventPredicate(passes)


def all_of(*predicates: Predicate) -> EventPredicate:
    each = [passes_of(predicate) for predicate in predicates]
    if len(each) == 1:
        return EventPredicate(each[0])  # asked about every change: nothing stands around it
    return EventPredicate(lambda old, new: all(passes(old, new) for passes in each))


def any_of(*predicates: Predicate) -> EventPredicate:
    each = [passes_of(predicate) for predicate in predicates]
    return EventPredicate(lambda old, new: any(passes(old, new) for passes in each))


def not_(predicate: Predicate) -> Predicate:
    """The opposite. Of a function of (old, new) only for updates: additions and deletions still pass."""
    if isinstance(predicate, EventPredicate):
        inner = predicate.passes
        return EventPredicate(lambda old, new: not inner(old, new))
    changed = predicate
    return lambda old, new: not changed(old, new)


def passes_of(predicate: Predicate) -> Passes:
    """What a source asks about every change."""
    if isinstance(predicate, EventPredicate):
        return predicate.passes
    changed = predicate
    return lambda old, new: old is None or new is None or changed(old, new)
