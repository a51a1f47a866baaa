"""The events of an Application: what changed from one status to the next, told once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from examples.operators.gitops.outcome import Outcome
from examples.operators.gitops.reporting import (
    IS_SYNCED,
    SOURCE_READY,
    SUCCEEDED,
    Pass,
    is_bad_health,
    is_same_sync,
    last_sync_of,
)
from examples.operators.gitops.wanted import Identity
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject

NORMAL, WARNING = "Normal", "Warning"
MAX_MESSAGE = 1024  # what an event may hold


class Telling(NamedTuple):
    type: str
    reason: str
    message: str


def healing_events(before: ReadOnlyObject, seen: Pass) -> Iterable[Telling]:
    """What this pass undid; `before` is the Application as it found it."""
    changed = _changed(seen)
    if changed and _was_done(before, seen):
        yield Telling(NORMAL, "SelfHealed", f"undid what changed in {_named(changed)}")


def events_of(before: ReadOnlyObject, changes: Object, seen: Pass, gone: Sequence[Identity]) -> Iterable[Telling]:
    """The others: `changes` is what becomes of its status."""
    if seen.has_synced and seen.phase == SUCCEEDED and not _was_done(before, seen):
        wanted, written = len(seen.plan.wanted), len(_changed(seen))
        yield Telling(NORMAL, "Synced", f"{wanted} objects are as in {seen.commit[:10]}, {written} were written")
    if gone:
        yield Telling(NORMAL, "Pruned", ", ".join(map(str, gone))[:MAX_MESSAGE])
    yield from _failures(before, changes)
    yield from _health(before, seen.health)


def source_events(before: ReadOnlyObject, changes: Object) -> Iterable[Telling]:
    """Where Git could not be read."""
    yield from _newly_false(before, changes, SOURCE_READY)


def _was_done(before: ReadOnlyObject, seen: Pass) -> bool:
    """Whether an earlier pass had brought the cluster to this commit."""
    last_sync = last_sync_of(before)
    return last_sync.get("phase") == SUCCEEDED and is_same_sync(last_sync, seen.application, seen.commit)


def _changed(seen: Pass) -> list[Outcome]:
    return [each for each in seen.outcomes if each.is_changed and not each.is_extra]


def _failures(before: ReadOnlyObject, changes: Object) -> Iterable[Telling]:
    for telling in _newly_false(before, changes, IS_SYNCED):
        if telling.reason == "SyncFailed":
            yield telling


def _newly_false(before: ReadOnlyObject, changes: Object, type_: str) -> Iterable[Telling]:
    """A condition that was not False before, or for another reason, or with other words."""
    was, now = get_condition(conditions_of(before), type_), get_condition(changes["conditions"], type_)
    if now is None or now["status"] != "False":
        return
    if was is None or any(was.get(field) != now[field] for field in ("status", "reason", "message")):
        yield Telling(WARNING, now["reason"], now["message"][:MAX_MESSAGE])


def _health(before: ReadOnlyObject, now: str) -> Iterable[Telling]:
    was = ((before.get("status") or {}).get("health") or {}).get("status")
    if was is not None and was != now:
        yield Telling(WARNING if is_bad_health(now) else NORMAL, "HealthChanged", f"{was} -> {now}")


def _named(outcomes: Iterable[Outcome]) -> str:
    return ", ".join(str(each.identity) for each in outcomes)[:MAX_MESSAGE]
