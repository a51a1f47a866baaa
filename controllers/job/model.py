"""A Job and its pods as the planners see them: read once from the caches, never changed. Pure.

Every count here follows syncJob of pkg/controller/job/job_controller.go (v1.36). A pod that still has the tracking
finalizer has not been counted yet; one whose finalizer we took off but whose cached copy still has it is `released`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from controllers import pods
from controllers.job import failure_policy, intervals
from controllers.job.failure_policy import Judgement
from controllers.job.finish_times import finished_at
from controllers.job.indexes import UNKNOWN, all_failures, failure_count, index_of, indexes_of
from controllers.job.intervals import Intervals
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, finalizers_of, is_being_deleted, uid_of

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
CONTROLLER_NAME = "kubernetes.io/job-controller"


def is_tracked(pod: ReadOnlyObject) -> bool:
    return TRACKING_FINALIZER in finalizers_of(pod)


def is_ours(job: ReadOnlyObject) -> bool:
    """Whether spec.managedBy leaves the Job to this loop."""
    return (job["spec"].get("managedBy") or CONTROLLER_NAME) == CONTROLLER_NAME


@dataclass(frozen=True)
class JobView:
    obj: ReadOnlyObject
    pods: Sequence[Object]
    released: AbstractSet[str]  # uids
    now: datetime

    # --- what is asked for

    @property
    def spec(self) -> ReadOnlyObject:
        return self.obj["spec"]

    @property
    def status(self) -> ReadOnlyObject:
        return self.obj.get("status") or {}

    @property
    def parallelism(self) -> int:
        return int(self.spec.get("parallelism", 1))

    @property
    def completions(self) -> int | None:
        return self.spec.get("completions")

    @property
    def is_indexed(self) -> bool:
        return self.spec.get("completionMode") == "Indexed"

    @property
    def backoff_limit(self) -> int:
        return int(self.spec.get("backoffLimit", 6))

    @property
    def backoff_limit_per_index(self) -> int | None:
        return self.spec.get("backoffLimitPerIndex")

    @property
    def is_suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def is_being_deleted(self) -> bool:
        return is_being_deleted(self.obj)

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a terminating pod is replaced only once it has ended."""
        return self.spec.get("podReplacementPolicy") == "Failed" or self.spec.get("podFailurePolicy") is not None

    # --- what is there

    @cached_property
    def active(self) -> Sequence[Object]:
        return [pod for pod in self.pods if pods.is_active(pod)]

    @cached_property
    def terminating(self) -> Sequence[Object]:
        return [pod for pod in self.pods if pods.is_terminating(pod)]

    @cached_property
    def uncounted(self) -> Mapping[str, AbstractSet[str]]:
        """The uids in status.uncountedTerminatedPods: `succeeded` and `failed`."""
        stored = self.status.get("uncountedTerminatedPods") or {}
        return {outcome: frozenset(stored.get(outcome) or ()) for outcome in ("succeeded", "failed")}

    @cached_property
    def newly_succeeded(self) -> Sequence[Object]:
        return self._uncounted_pods(self.uncounted["succeeded"], has_succeeded)

    @cached_property
    def newly_failed(self) -> Sequence[Object]:
        return self._uncounted_pods(self.uncounted["failed"], self.has_failed)

    @cached_property
    def failed(self) -> int:
        """Every failure that counts, told in the status or not."""
        new = sum(self.judge(pod).is_counted for pod in self.newly_failed)
        return (self.status.get("failed") or 0) + new + len(self.uncounted["failed"])

    @cached_property
    def succeeded(self) -> int:
        if self.is_indexed:
            return intervals.total(self.succeeded_indexes)
        told = (self.status.get("succeeded") or 0) + len(self.uncounted["succeeded"])
        return told + len(self.newly_succeeded)

    def has_failed(self, pod: ReadOnlyObject) -> bool:
        """A pod that is deleted before it ends counts as failed, unless its end is waited for."""
        if pods.phase_of(pod) == "Failed":
            return True
        return not self.replaces_only_failed and is_being_deleted(pod) and not has_succeeded(pod)

    def judge(self, pod: ReadOnlyObject) -> Judgement:
        return failure_policy.judge(self.spec.get("podFailurePolicy"), pod)

    def is_uncounted(self, pod: ReadOnlyObject) -> bool:
        return is_tracked(pod) and uid_of(pod) not in self.released

    # --- indexes

    def has_valid_index(self, pod: ReadOnlyObject) -> bool:
        """Always, where the Job has no indexes."""
        return not self.is_indexed or UNKNOWN < index_of(pod) < (self.completions or 0)

    @cached_property
    def completed_before(self) -> Intervals:
        return intervals.parse(self.status.get("completedIndexes") or "", self.completions or 0)

    @cached_property
    def succeeded_indexes(self) -> Intervals:
        new = [p for p in self.pods if has_succeeded(p) and is_tracked(p) and self.has_valid_index(p)]
        return intervals.union(self.completed_before, intervals.of(indexes_of(new)))

    @cached_property
    def failed_indexes(self) -> Intervals | None:
        """None without backoffLimitPerIndex."""
        if not self.is_indexed or self.backoff_limit_per_index is None:
            return None
        before = intervals.parse(self.status.get("failedIndexes") or "", self.completions or 0)
        new = [p for p in self.pods if is_tracked(p) and self.has_valid_index(p) and self._fails_its_index(p)]
        return intervals.union(before, intervals.of(indexes_of(new)))

    @cached_property
    def kept_failures(self) -> Mapping[int, Object]:
        """With backoffLimitPerIndex: the last failed pod of each index that is to run again.

        It is kept until its replacement is there, which takes its failure count over.
        """
        kept: dict[int, Object] = {}
        if self.failed_indexes is None:
            return kept
        taken = intervals.of(indexes_of(self.active))
        settled = intervals.union(intervals.union(self.succeeded_indexes, self.failed_indexes), taken)
        for pod in self._uncounted_pods(frozenset(), self.has_failed):
            index = index_of(pod)
            if not intervals.contains(settled, index) and (index not in kept or _is_later(pod, kept[index])):
                kept[index] = pod
        return kept

    def _fails_its_index(self, pod: ReadOnlyObject) -> bool:
        if not self.has_failed(pod):
            return False
        judgement = self.judge(pod)
        if judgement.action == failure_policy.FAIL_INDEX:
            return True
        return judgement.is_counted and failure_count(pod) >= (self.backoff_limit_per_index or 0)

    def _uncounted_pods(self, told: AbstractSet[str], has_ended: Callable[[Object], bool]) -> Sequence[Object]:
        return [
            pod
            for pod in self.pods
            if self.is_uncounted(pod) and uid_of(pod) not in told and self.has_valid_index(pod) and has_ended(pod)
        ]


def has_succeeded(pod: ReadOnlyObject) -> bool:
    return pods.phase_of(pod) == "Succeeded"


def _is_later(pod: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    return all_failures(other) <= all_failures(pod) and finished_at(pod) >= finished_at(other)
