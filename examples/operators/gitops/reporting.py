"""What a pass found, as the Application's status. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from examples.operators.gitops.application import Application
from examples.operators.gitops.health import DEGRADED, HEALTHY, MISSING, Health, worst
from examples.operators.gitops.outcome import OUT_OF_SYNC, SYNCED, UNKNOWN, Outcome
from examples.operators.gitops.pruning import Inventory, to_status
from examples.operators.gitops.wanted import Plan
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time
from kubeloop.runtime.status import status_changes

SOURCE_READY, IS_SYNCED, IS_HEALTHY = "SourceReady", "Synced", "Healthy"
RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
_SOURCE_FAILED = ((SOURCE_READY, "False"), (IS_SYNCED, "Unknown"))
MAX_MESSAGE = 32768  # what a metav1.Condition may hold


@dataclass(frozen=True, slots=True)
class Pass:
    """One look at an Application, at one commit. `has_synced`: it was due, so what could be written was."""

    application: Application
    commit: str
    plan: Plan
    outcomes: Sequence[Outcome]
    inventory: Inventory
    has_synced: bool
    is_waiting: bool

    @property
    def failures(self) -> list[str]:
        """Every refusal, with what it is about."""
        about = [f"{each.identity}: {each.message}" for each in self.outcomes if each.is_failed]
        return [*map(str, self.plan.problems), *about]

    @property
    def sync(self) -> str:
        is_synced = self.plan.is_complete and all(each.sync == SYNCED for each in self.outcomes)
        return SYNCED if is_synced else OUT_OF_SYNC

    @property
    def health(self) -> str:
        """Of what Git has; what is to be pruned does not count."""
        return worst(each.health.status for each in self.outcomes if not each.is_extra)

    @property
    def phase(self) -> str:
        """How the sync stands; it goes on while it waits for something."""
        if self.is_waiting:
            return RUNNING
        return FAILED if self.failures or not self.plan.is_complete else SUCCEEDED


def is_due(application: Application, last_sync: Mapping[str, Any], commit: str) -> bool:
    """Whether this pass may write: by the policy, because somebody asked, or because a sync is not at its end."""
    if application.sync_request != (last_sync.get("request") or "") and application.sync_request:
        return True
    if last_sync.get("phase") == RUNNING:
        return True
    if not application.policy.automated:
        return False
    if application.policy.self_heal or last_sync.get("phase") != SUCCEEDED:
        return True
    return (last_sync.get("revision"), last_sync.get("generation")) != (commit, application.generation)


def awaited_kinds(plan: Plan, outcomes: Iterable[Outcome]) -> set[tuple[str, str]]:
    """Group and kind of what cannot be applied yet, but will be once definitions that have been applied are served."""
    applied = {outcome.identity for outcome in outcomes if outcome.sync == SYNCED}
    defined = {(group, kind) for identity, group, kind in plan.definitions() if identity in applied}
    return defined & {(unknown.identity.group, unknown.identity.kind) for unknown in plan.unknown}


def unknown_outcomes(plan: Plan, awaited: Container[tuple[str, str]]) -> list[Outcome]:
    """Objects of kinds that nobody serves: some for a moment, the others told in client-go's words."""
    outcomes = []
    for each in plan.unknown:
        is_awaited = (each.identity.group, each.identity.kind) in awaited
        message = "waiting for its CustomResourceDefinition to be served" if is_awaited else each.message
        version, health = each.version, Health(MISSING)
        outcomes.append(Outcome(each.identity, version, OUT_OF_SYNC, health, message, is_failed=not is_awaited))
    return outcomes


def last_sync_of(application: ReadOnlyObject) -> Mapping[str, Any]:
    return (application.get("status") or {}).get("lastSync") or {}


def begun(application: Application, commit: str, now: datetime) -> Object:
    """status.lastSync of a sync under way."""
    return {**_attempt(application, commit), "phase": RUNNING, "since": format_time(now)}


def is_same_sync(last_sync: Mapping[str, Any], application: Application, commit: str) -> bool:
    return all(last_sync.get(field) == value for field, value in _attempt(application, commit).items())


def status_of(obj: ReadOnlyObject, seen: Pass, now: datetime) -> Object:
    """The changes to the status."""
    changes: Object = {
        "sync": {"status": seen.sync, "revision": seen.commit},
        "health": {"status": seen.health},
        "resources": [outcome.to_status() for outcome in seen.outcomes],
        "inventory": to_status(seen.inventory),
    }
    if seen.has_synced:
        changes["lastSync"] = _ended(last_sync_of(obj), seen, now)
    conditions = (_source_condition(seen), _synced_condition(seen), _healthy_condition(seen))
    return status_changes(obj, changes, conditions, now)


def unreadable_status(obj: ReadOnlyObject, message: str, now: datetime) -> Object:
    """The changes where Git could not be read: what was known of the cluster stays as it was."""
    revision = ((obj.get("status") or {}).get("sync") or {}).get("revision") or ""
    conditions = [_condition(type_, status, "SourceFailed", message) for type_, status in _SOURCE_FAILED]
    return status_changes(obj, {"sync": {"status": UNKNOWN, "revision": revision}}, conditions, now)


def leaving_status(obj: ReadOnlyObject, outcomes: Sequence[Outcome], inventory: Inventory, now: datetime) -> Object:
    """The changes while what was applied is being deleted."""
    lines = [f"{each.identity}: {each.message or each.health.message or 'still there'}" for each in outcomes]
    changes = {"resources": [outcome.to_status() for outcome in outcomes], "inventory": to_status(inventory)}
    return status_changes(obj, changes, [_condition(IS_SYNCED, "False", "Deleting", "\n".join(lines))], now)


def _attempt(application: Application, commit: str) -> Object:
    return {"revision": commit, "generation": application.generation, "request": application.sync_request}


def _ended(last_sync: Mapping[str, Any], seen: Pass, now: datetime) -> Object:
    """The time stays that of the first pass which came to this end: a quiet cluster's status does not change."""
    if last_sync.get("phase") == seen.phase and is_same_sync(last_sync, seen.application, seen.commit):
        return dict(last_sync)
    return {**_attempt(seen.application, seen.commit), "phase": seen.phase, "since": format_time(now)}


def _source_condition(seen: Pass) -> Object:
    if seen.plan.problems:
        return _condition(SOURCE_READY, "False", "InvalidManifests", "\n".join(map(str, seen.plan.problems)))
    return _condition(SOURCE_READY, "True", "Read", f"{seen.application.source.revision} is {seen.commit}")


def _synced_condition(seen: Pass) -> Object:
    if seen.sync == SYNCED:
        return _condition(IS_SYNCED, "True", "Synced", f"as of {seen.commit}")
    reason = "SyncFailed" if seen.failures else "Waiting" if seen.is_waiting else "OutOfSync"
    return _condition(IS_SYNCED, "False", reason, "\n".join([*seen.failures, *_differences(seen.outcomes)]))


def _differences(outcomes: Iterable[Outcome]) -> Iterable[str]:
    """A line for each object that nobody refused and that is not as Git has it."""
    for each in outcomes:
        if each.sync != SYNCED and not each.is_failed:
            why = "is not in Git" if each.is_extra else "is missing" if each.health.status == MISSING else "differs"
            yield f"{each.identity}: {each.message or each.health.message or why}"


def _healthy_condition(seen: Pass) -> Object:
    unwell = [each for each in seen.outcomes if not each.is_extra and each.health.status != HEALTHY]
    lines = [f"{each.identity}: {each.health.message or each.health.status}" for each in unwell]
    status = "True" if seen.health == HEALTHY else "False"
    return _condition(IS_HEALTHY, status, seen.health, "\n".join(lines))


def _condition(type_: str, status: str, reason: str, message: str) -> Object:
    return {"type": type_, "status": status, "reason": reason, "message": message[:MAX_MESSAGE]}


def is_bad_health(status: str) -> bool:
    return status in (DEGRADED, MISSING)
