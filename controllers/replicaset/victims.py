"""Which pods go first when a ReplicaSet shrinks.

The order of pkg/controller.ActivePodsWithRanks (v1.36), the first rule that tells two pods apart deciding:

1. without a node before with one        5. on a fuller node before on an emptier one
2. Pending, then Unknown, then Running   6. ready for a shorter time before longer
3. not ready before ready                7. more restarts before fewer
4. cheaper before dearer                 8. younger before older

Times (6 and 8) are compared by their order of magnitude, seen from now, so that in a fleet of pods of much the same
age the choice does not always fall on the youngest; within one magnitude the uid decides.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from controllers import pods
from kubeloop.apimachinery.meta import ReadOnlyObject, metadata, uid_of
from kubeloop.apimachinery.times import parse_time

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_MICROSECOND = timedelta(microseconds=1)


def choose(
    candidates: Sequence[ReadOnlyObject], related: Sequence[ReadOnlyObject], count: int, now: datetime
) -> list[ReadOnlyObject]:
    """The `count` pods to delete. `related`: the pods of every ReplicaSet of the same owner, for crowded nodes."""
    if count >= len(candidates):
        return list(candidates)
    return in_order(candidates, related, now)[:count]


def in_order(
    candidates: Sequence[ReadOnlyObject], related: Sequence[ReadOnlyObject], now: datetime
) -> list[ReadOnlyObject]:
    """All candidates, those to be deleted first in front."""
    crowd = Counter(pods.node_of(pod) for pod in related if pods.is_active(pod))

    def compare(a: ReadOnlyObject, b: ReadOnlyObject) -> int:
        return _compare(a, b, crowd, now)

    return sorted(candidates, key=functools.cmp_to_key(compare))


def _compare(a: ReadOnlyObject, b: ReadOnlyObject, crowd: Counter[str], now: datetime) -> int:
    node_a, node_b = pods.node_of(a), pods.node_of(b)
    ready_a, ready_b = pods.is_ready(a), pods.is_ready(b)
    first_difference = next(
        (
            difference
            for difference in (
                bool(node_a) - bool(node_b),
                _PHASES.get(pods.phase_of(a), 0) - _PHASES.get(pods.phase_of(b), 0),
                ready_a - ready_b,
                pods.deletion_cost(a) - pods.deletion_cost(b),
                crowd[node_b] - crowd[node_a],
            )
            if difference
        ),
        0,
    )
    if first_difference:
        return first_difference
    if ready_a and ready_b:
        by_readiness = _by_age(a, b, pods.ready_since(a), pods.ready_since(b), now)
        if by_readiness:
            return by_readiness
    restarts_a, restarts_b = pods.most_restarts(a), pods.most_restarts(b)
    if restarts_a != restarts_b:
        return -1 if restarts_a > restarts_b else 1
    return _by_age(a, b, _created(a), _created(b), now)


def _by_age(
    a: ReadOnlyObject, b: ReadOnlyObject, since_a: datetime | None, since_b: datetime | None, now: datetime
) -> int:
    if since_a == since_b:
        return 0
    if since_a is None or since_b is None:
        return -1 if since_a is None else 1
    difference = _magnitude(since_a, now) - _magnitude(since_b, now)
    if difference:
        return difference
    return -1 if uid_of(a) < uid_of(b) else 1


def _magnitude(since: datetime, now: datetime) -> int:
    """The base-2 order of magnitude of an age in nanoseconds; -1 for the future."""
    nanoseconds = (now - since) // _MICROSECOND * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _created(pod: ReadOnlyObject) -> datetime | None:
    text = metadata(pod).get("creationTimestamp")
    return parse_time(text) if text else None
