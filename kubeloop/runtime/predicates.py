"""Which updates a source lets through. Additions and deletions always pass: a predicate only asks what changed."""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.apimachinery.meta import Object, annotations_of, generation_of, labels_of, resource_version_of

Predicate = Callable[[Object, Object], bool]


def generation_changed(old: Object, new: Object) -> bool:
    """The spec changed; status updates are left out."""
    return generation_of(old) != generation_of(new)


def labels_changed(old: Object, new: Object) -> bool:
    return labels_of(old) != labels_of(new)


def annotations_changed(old: Object, new: Object) -> bool:
    return annotations_of(old) != annotations_of(new)


def resource_version_changed(old: Object, new: Object) -> bool:
    """Anything changed at all."""
    return resource_version_of(old) != resource_version_of(new)


def any_of(*predicates: Predicate) -> Predicate:
    return lambda old, new: any(predicate(old, new) for predicate in predicates)
