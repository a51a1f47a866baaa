"""How many pods a usage calls for. Pure.

Usage is in thousandths. A pod that should have been measured and was not is taken to be busy when the rest would be
scaled down, and idle when it would be scaled up; one that is not ready yet counts as idle, and only when scaling up.
pkg/controller/podautoscaler/replica_calculator.go, v1.36.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from controllers.horizontal_pod_autoscaler.model import USUAL, Settings, Tolerances
from controllers.pods import is_ready, phase_of, ready_condition
from kubeloop.apimachinery.meta import ReadOnlyObject, is_being_deleted, name_of
from kubeloop.apimachinery.times import parse_time, seconds_since

_MOST = 2**31 - 1
_NO_PODS = "no pods returned by selector while calculating replica count"


class NoProposal(Exception):
    """The number of replicas cannot be told; the message is shown to the user."""


class Sample(NamedTuple):
    """What one pod used on the average of the window that ended at `taken_at`."""

    value: int
    taken_at: datetime
    window_seconds: float


Samples = Mapping[str, Sample]  # by pod
Values = Mapping[str, int]


class Proposal(NamedTuple):
    """`usage`: the average of a pod, or the whole; `utilization`: in percent of what pods request."""

    replicas: int
    usage: int
    utilization: int | None = None


@dataclass(slots=True)
class Groups:
    ready: int = 0
    unready: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Situation:
    """The pods of the target, and how many of them its scale asks for and has."""

    pods: Sequence[ReadOnlyObject]
    wanted: int
    present: int
    tolerances: Tolerances
    now: datetime
    settings: Settings = USUAL


def by_utilization(
    situation: Situation, samples: Samples, resource: str, target_percent: int, requests_of: Callable[[], Values]
) -> Proposal:
    """`requests_of` may raise NoProposal; it is asked only once there is something to compare with."""
    groups, values = _grouped(situation, samples, resource)
    requests = requests_of()

    def ratio(used: Values) -> float:
        return _utilization(used, requests)[0] / target_percent

    def busy(pod: str) -> int:
        return requests[pod] * max(100, target_percent) // 100

    utilization, average = _utilization(values, requests)
    replicas = _replicas(situation, groups, values, ratio, busy)
    return Proposal(replicas, average, min(utilization, _MOST))  # an int32 in the status


def by_average(situation: Situation, samples: Samples, resource: str, target: int) -> Proposal:
    """`resource` is empty for metrics that are no resource's."""
    groups, values = _grouped(situation, samples, resource)

    def ratio(used: Values) -> float:
        return _average(used) / target

    return Proposal(_replicas(situation, groups, values, ratio, lambda _: target), _average(values))


def by_value(situation: Situation, usage: int, target: int) -> Proposal:
    """One number for all pods, to be brought to `target`."""
    ratio = usage / target
    if situation.wanted == 0:
        return Proposal(_bounded(ratio), usage)
    if situation.tolerances.cover(ratio):
        return Proposal(situation.wanted, usage)
    if not situation.pods:
        raise NoProposal(f"unable to calculate ready pods: {_NO_PODS}")
    ready = sum(phase_of(pod) == "Running" and is_ready(pod) for pod in situation.pods)
    return Proposal(_bounded(ratio * ready), usage)


def by_share(situation: Situation, usage: int, target: int) -> Proposal:
    """One number for all pods, of which each is to have `target`."""
    present = situation.present
    is_fine = present > 0 and situation.tolerances.cover(usage / (target * present))
    return Proposal(present if is_fine else _bounded(usage / target), math.ceil(usage / max(present, 1)))


def group(situation: Situation, samples: Samples, resource: str) -> Groups:
    groups = Groups()
    for pod in situation.pods:
        name = name_of(pod)
        if is_being_deleted(pod) or phase_of(pod) == "Failed":
            groups.ignored.add(name)
        elif phase_of(pod) == "Pending":
            groups.unready.add(name)
        elif name not in samples:
            groups.missing.add(name)
        elif resource == "cpu" and _is_starting(pod, samples[name], situation):
            groups.unready.add(name)
        else:
            groups.ready += 1
    return groups


def _is_starting(pod: ReadOnlyObject, sample: Sample, situation: Situation) -> bool:
    """Whether its CPU usage says more about its start than about its load."""
    settings = situation.settings
    condition, started = ready_condition(pod), (pod.get("status") or {}).get("startTime")
    if condition is None or not started:
        return True
    is_unready = condition.get("status") == "False"
    since = condition.get("lastTransitionTime")
    if seconds_since(started, situation.now) < settings.cpu_initialization_seconds:
        is_sample_older = since is not None and seconds_since(since, sample.taken_at) < sample.window_seconds
        return is_unready or is_sample_older
    if since is None:
        return is_unready
    return is_unready and seconds_since(started, parse_time(since)) < settings.initial_readiness_seconds


def _grouped(situation: Situation, samples: Samples, resource: str) -> tuple[Groups, Values]:
    _check_any(situation.pods)
    groups = group(situation, samples, resource)
    left_out = groups.ignored | groups.unready
    values = {pod: sample.value for pod, sample in samples.items() if pod not in left_out}
    if not values:
        raise NoProposal("did not receive metrics for targeted pods (pods might be unready)")
    return groups, values


def _replicas(
    situation: Situation,
    groups: Groups,
    values: Values,
    ratio_of: Callable[[Values], float],
    busy: Callable[[str], int],
) -> int:
    current, ratio = situation.wanted, ratio_of(values)
    counts_unready = bool(groups.unready) and ratio > 1.0
    if not counts_unready and not groups.missing:
        return current if situation.tolerances.cover(ratio) else _bounded(ratio * groups.ready)
    estimated = dict(values)
    if ratio != 1.0:
        estimated |= {pod: busy(pod) if ratio < 1.0 else 0 for pod in groups.missing}
    if counts_unready:
        estimated |= dict.fromkeys(groups.unready, 0)
    again = ratio_of(estimated)
    if situation.tolerances.cover(again) or (again - 1.0) * (ratio - 1.0) < 0:
        return current  # too little to act upon, or the estimates turn the direction round
    wanted = _bounded(again * len(estimated))
    return current if (again < 1.0 and wanted > current) or (again > 1.0 and wanted < current) else wanted


def _utilization(used: Values, requests: Values) -> tuple[int, int]:
    """In percent of the requests, and the average usage, of the pods that are known."""
    known = [pod for pod in used if pod in requests]
    asked, total = sum(requests[pod] for pod in known), sum(used[pod] for pod in known)
    if asked == 0:
        raise NoProposal("no metrics returned matched known pods")
    return total * 100 // asked, total // len(known)


def _average(used: Values) -> int:
    return sum(used.values()) // len(used)


def _check_any(pods: Sequence[ReadOnlyObject]) -> None:
    if not pods:
        raise NoProposal(_NO_PODS)


def _bounded(replicas: float) -> int:
    return _MOST if replicas > _MOST else math.ceil(replicas)
