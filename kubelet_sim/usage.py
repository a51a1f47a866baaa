"""What a simulated container uses of CPU and memory at a moment. Pure: the same annotations and clock, the same usage.

Said by annotations on the pod, which count for each of its containers, or with `.NAME` appended for one of them:

    kubeloop.io/cpu-usage: 250m                    this much all the time
    kubeloop.io/memory-usage: 50%                  so much of the container's request
    kubeloop.io/cpu-usage: 100m@0s,800m@2m         as it goes on: from 100m at its start to 800m after two minutes, in a
                                                   straight line, and 800m from then on
    kubeloop.io/cpu-usage: 100m@1m,800m@1m,0@5m    two amounts at one time are a jump

and by annotations on the workload (Deployment, StatefulSet, ReplicaSet, …), for work that its ready pods share:

    kubeloop.io/cpu-load: "2"                      so the more pods, the less each has to do
    kubeloop.io/memory-load: 1Gi@0s,4Gi@10m        time counts from the workload's creation

A container's share of a load comes on top of its own usage. Without annotations a container uses a tenth of the CPU it
requests and half of the memory; nobody uses more than his limit. `kubeloop.io/ephemeral-storage-usage` says in the same
way what a container writes to its node's disk, by itself nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from kubelet_sim.annotations import PREFIX, error, over_time, said
from kubeloop.apimachinery.quantity import QuantityError, parse

Json = Mapping[str, Any]

CPU = "cpu"
MEMORY = "memory"
STORAGE = "ephemeral-storage"
RESOURCES = (CPU, MEMORY)  # that are measured
_DEFAULT_SHARES = {CPU: 0.1, MEMORY: 0.5, STORAGE: 0.0}
_DEFAULT_AMOUNTS = {CPU: 0.001, MEMORY: 16.0 * 2**20, STORAGE: 0.0}  # where nothing is requested
# Cores or bytes: sums over thousands of pods, and billionths of cores, are still numbers that a Quantity holds.
_MOST = float(2**50)


@dataclass(frozen=True, slots=True)
class Point:
    seconds: float
    amount: float  # cores or bytes


@dataclass(frozen=True, slots=True)
class Curve:
    """Amounts over time, in order; straight lines between the points, level before the first and after the last."""

    points: Sequence[Point]

    def average(self, start: float, end: float) -> float:
        """Over the seconds from `start` to `end`, or at that moment where they are the same."""
        if start >= end:
            return self._at(end)
        marks = [start, *(point.seconds for point in self.points if start < point.seconds < end), end]
        area = sum((self._after(a) + self._at(b)) / 2 * (b - a) for a, b in pairwise(marks) if b > a)
        return area / (end - start)

    def first_above(self, amount: float) -> float | None:
        """The first second from 0 on at which more than `amount` is used, or None."""
        if self._after(0) > amount:
            return 0.0
        ahead = (point for point in self.points if point.seconds > 0)
        for before, after in pairwise((Point(0, self._after(0)), *ahead)):
            if after.amount > amount:
                share = (amount - before.amount) / (after.amount - before.amount)
                return before.seconds + max(share, 0.0) * (after.seconds - before.seconds)
        return None

    def _at(self, seconds: float) -> float:
        """Before a jump at that very time."""
        return self._line(seconds, [point for point in self.points if point.seconds < seconds])

    def _after(self, seconds: float) -> float:
        """After it."""
        return self._line(seconds, [point for point in self.points if point.seconds <= seconds])

    def _line(self, seconds: float, passed: Sequence[Point]) -> float:
        ahead = self.points[len(passed) :]
        if not passed or not ahead:
            return (passed[-1] if passed else ahead[0]).amount
        before, after = passed[-1], ahead[0]
        share = (seconds - before.seconds) / (after.seconds - before.seconds)
        return before.amount + share * (after.amount - before.amount)


def own_usage(container: Json, annotations: Mapping[str, str], resource: str) -> Curve:
    """What a container uses without its share of a load; seconds count from its start. Raises BehaviourError."""
    word = f"{resource}-usage"
    text = said(container["name"], annotations, word)
    request = _asked(container, "requests", resource)
    if text:
        return curve(word, text, request)
    amount = _DEFAULT_AMOUNTS[resource] if request is None else request * _DEFAULT_SHARES[resource]
    return Curve((Point(0, amount),))


def load(annotations: Mapping[str, str], resource: str) -> Curve | None:
    """What the ready pods of a workload have to share; seconds count from its creation. Raises BehaviourError."""
    word = f"{resource}-load"
    text = annotations.get(f"{PREFIX}{word}", "")
    return curve(word, text, None) if text else None


def limited(container: Json, resource: str, amount: float) -> float:
    """No more than the container's limit."""
    limit = _asked(container, "limits", resource)
    return amount if limit is None else min(amount, limit)


def limit(container: Json, resource: str) -> float | None:
    """Of the container; None where it has none."""
    return _asked(container, "limits", resource)


def check(container: Json, annotations: Mapping[str, str]) -> None:
    """Raises BehaviourError where the annotations on its pod cannot be understood."""
    for resource in (*RESOURCES, STORAGE):
        own_usage(container, annotations, resource)


def out_of_memory_after(container: Json, annotations: Mapping[str, str]) -> float | None:
    """So many seconds after its start a container uses more memory than its limit. Raises BehaviourError."""
    limit = _asked(container, "limits", MEMORY)
    if limit is None or not said(container["name"], annotations, f"{MEMORY}-usage"):
        return None
    return own_usage(container, annotations, MEMORY).first_above(limit)


def _asked(container: Json, what: str, resource: str) -> float | None:
    quantity = ((container.get("resources") or {}).get(what) or {}).get(resource)
    return None if quantity is None else parse(str(quantity)).approximate()


@lru_cache(maxsize=4096)  # of all there are in a cluster few differ; full: the least recent are read again
def curve(word: str, text: str, request: float | None) -> Curve:
    """`request`: what percentages are of. Raises BehaviourError."""
    points = over_time(word, text, "write a curve as 100m@0s,800m@2m")
    return Curve(tuple(Point(seconds, _amount(word, amount, request)) for amount, seconds in points))


def _amount(word: str, text: str, request: float | None) -> float:
    """A quantity, or a percentage of the request."""
    try:
        amount = parse(text.removesuffix("%")).approximate()
    except QuantityError as problem:
        example = "write a quantity such as 250m or 64Mi, or 50% of the request"
        raise error(word, f"{text!r} is no amount: {example}") from problem
    if amount < 0:
        raise error(word, f"{text!r} is less than nothing")
    if text.endswith("%"):
        if request is None:
            raise error(word, f"{text!r} of what? The container requests none")
        amount = request * amount / 100
    if amount > _MOST:
        raise error(word, f"{text!r} is more than any machine has")
    return amount
