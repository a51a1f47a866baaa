"""Which pods go first when a Job has too many. Pure.

The order of pkg/controller.ActivePods (v1.36): without a node, Pending, not ready, ready for a shorter time, more
restarts, younger. An Indexed Job first loses pods whose index is missing, out of range or taken by another pod.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from controllers import pods
from controllers.job.indexes import UNKNOWN, index_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, metadata
from kubeloop.apimachinery.times import parse_time

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def choose(active: Sequence[Object], at_least: int) -> list[Object]:
    """Those of a Job without indexes."""
    return sorted(active, key=_rank)[:at_least]


def choose_indexed(active: Sequence[Object], at_least: int, completions: int) -> list[Object]:
    """All that have no index of their own, and as many more as are needed."""
    superfluous: list[Object] = []
    rest: list[Object] = []
    for index, same in itertools.groupby(sorted(active, key=index_of), key=index_of):
        ranked = sorted(same, key=_rank)
        kept = 0 if index == UNKNOWN or index >= completions else 1
        superfluous += ranked[: len(ranked) - kept]
        rest += ranked[len(ranked) - kept :]
    return superfluous + choose(rest, max(0, at_least - len(superfluous)))


def _rank(pod: ReadOnlyObject) -> tuple[Any, ...]:
    is_ready = pods.is_ready(pod)
    created = metadata(pod).get("creationTimestamp")
    return (
        bool(pods.node_of(pod)),
        _PHASES.get(pods.phase_of(pod), 0),
        is_ready,
        _youngest_first(pods.ready_since(pod)) if is_ready else 0.0,
        [-restarts for restarts in pods.most_restarts(pod)],
        _youngest_first(parse_time(created) if created else None),
    )


def _youngest_first(since: datetime | None) -> float:
    """A time nobody noted comes before all others."""
    return float("-inf") if since is None else -since.timestamp()
