"""How many pods a Job should have, and which to make or to take away for it. Pure.

Either pods are deleted or pods are created in one reconcile, never both (manageJob of pkg/controller/job, v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controllers.job import intervals, templates, victims
from controllers.job.backoff import Failures
from controllers.job.finish_times import finished_at
from controllers.job.indexes import all_failures, indexes_of
from controllers.job.model import JobView
from kubeloop.apimachinery.meta import Object

# The most pods created or deleted in one reconcile; the next one goes on when these have shown up.
MAX_PODS = 500
# The least that a pod waits for: a Job whose pods change is looked at no more often than this.
BATCH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """`wait_seconds`: pods are missing, but the back-off is not over. Such a Job counts as having no active pods."""

    create: tuple[Object, ...] = ()
    delete: tuple[Object, ...] = ()
    wait_seconds: float | None = None


def plan(job: JobView, failures: Failures) -> Scaling:
    if job.is_suspended:
        return Scaling(delete=tuple(job.active))
    wanted = _wanted(job)
    surplus = _surplus(job, max(0, len(job.active) - wanted))
    if surplus:
        return Scaling(delete=tuple(surplus[:MAX_PODS]))
    leaving = len(job.terminating) if job.replaces_only_failed else 0
    missing = min(wanted - leaving - len(job.active), MAX_PODS)
    return _creations(job, missing, failures) if missing > 0 else Scaling()


def _wanted(job: JobView) -> int:
    """Without completions, nothing is started any more once a pod has succeeded."""
    if job.completions is None:
        return len(job.active) if job.succeeded else job.parallelism
    return max(0, min(job.completions - job.succeeded, job.parallelism))


def _surplus(job: JobView, at_least: int) -> list[Object]:
    if job.is_indexed:
        return victims.choose_indexed(job.active, at_least, job.completions or 0)
    return victims.choose(job.active, at_least)


def _creations(job: JobView, missing: int, failures: Failures) -> Scaling:
    if job.backoff_limit_per_index is not None:
        return _independent_creations(job, missing)
    wait = failures.seconds_left(job.now)
    if wait > 0:
        return Scaling(wait_seconds=max(wait, BATCH_SECONDS))
    if job.is_indexed:
        return _of_indexes(job, _pending_indexes(job, missing))
    return Scaling(create=(templates.pod(job),) * missing)


def _independent_creations(job: JobView, missing: int) -> Scaling:
    """Each index waits for its own failures only."""
    pending = _pending_indexes(job, missing)
    waits = {index: _seconds_left(job, index) for index in pending}
    due = [index for index in pending if waits[index] <= 0]
    if pending and not due:
        return Scaling(wait_seconds=max(min(waits.values()), BATCH_SECONDS))
    return _of_indexes(job, due)


def _seconds_left(job: JobView, index: int) -> float:
    failed = job.kept_failures.get(index)
    return 0.0 if failed is None else Failures(all_failures(failed) + 1, finished_at(failed)).seconds_left(job.now)


def _of_indexes(job: JobView, indexes: Sequence[int]) -> Scaling:
    return Scaling(create=tuple(templates.indexed_pod(job, index) for index in indexes))


def _pending_indexes(job: JobView, count: int) -> list[int]:
    """The lowest indexes that nobody works on and that are not settled."""
    busy = indexes_of(job.active)
    if job.replaces_only_failed:
        busy |= indexes_of(job.terminating)
    taken = intervals.union(job.succeeded_indexes, intervals.of(busy))
    taken = intervals.union(taken, job.failed_indexes or intervals.EMPTY)
    return intervals.first_missing(taken, count, job.completions or 0)
