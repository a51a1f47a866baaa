"""Changes as a watch of one version shows them: the objects in each, converted where they are stored in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from apiserver.registry.catalog import Versioning
from apiserver.storage.interface import Change, Stored
from kubeloop.apimachinery.errors import ApiError


class ShownChanges(NamedTuple):
    """The first changes of a batch, all of them unless one could not be converted."""

    changes: Sequence[Change]
    failure: ApiError | None = None


async def shown_changes(versioning: Versioning, batch: Sequence[Change], *, is_selective: bool) -> ShownChanges:
    """A batch in one conversion. Where that fails by halves, so that all before the first that fails is shown.

    The object before a change is shown only where it was deleted or a selection has to be made (`is_selective`).
    """
    try:
        return ShownChanges(await _shown(versioning, batch, is_selective))
    except ApiError as error:
        if len(batch) <= 1:
            return ShownChanges((), error)
    middle = len(batch) // 2
    first = await shown_changes(versioning, batch[:middle], is_selective=is_selective)
    if first.failure is not None:
        return first
    second = await shown_changes(versioning, batch[middle:], is_selective=is_selective)
    return ShownChanges([*first.changes, *second.changes], second.failure)


async def _shown(versioning: Versioning, batch: Sequence[Change], is_selective: bool) -> Sequence[Change]:
    wanted: dict[int, Stored] = {}
    for change in batch:
        if change.current is not None:
            wanted[id(change.current)] = change.current
        if change.previous is not None and (is_selective or change.current is None):
            wanted[id(change.previous)] = change.previous
    shown = dict(zip(wanted, await versioning.shown(list(wanted.values())), strict=True))
    return [
        replace(
            change,
            current=shown.get(id(change.current)),
            previous=shown.get(id(change.previous), change.previous),
        )
        for change in batch
    ]
