"""The probes of a container, and how their checks will go.

Annotations say it, over time (annotations.py); before the first time a check passes:

    kubeloop.io/readiness: fail@30s,pass@60s    fails from 30 s after the container's start until 60 s after it
    kubeloop.io/liveness: hang@5m               gets no answer within its timeout from then on
    kubeloop.io/startup: fail@0s,pass@40s

They are about probes that a container has: one without a probe is not probed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from kubelet_sim.annotations import PREFIX, BehaviourError, error, is_late, over_time, said


class Kind(StrEnum):
    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"


FIELDS = {kind: f"{kind.value}Probe" for kind in Kind}  # of the container


class Outcome(StrEnum):
    """Of one check."""

    PASS = "pass"
    FAIL = "fail"
    HANG = "hang"


Outcomes = tuple[tuple[float, Outcome], ...]  # from so many seconds after the container's start

_EXAMPLE = "write it as fail@30s,pass@60s"


@dataclass(frozen=True, slots=True)
class Probe:
    """`fields` is its JSON. Times in seconds. `outcomes` are in order of time."""

    fields: Mapping[str, Any]
    delay: float
    period: float
    timeout: float
    success_threshold: int
    failure_threshold: int
    outcomes: Outcomes = ()
    since: datetime | None = None  # outcomes count from then at the earliest

    def of_run(self, started_at: datetime) -> Probe:
        """With outcomes that count from the start of that run."""
        if self.since is None or self.since <= started_at:
            return self
        late = (self.since - started_at).total_seconds()
        return replace(self, outcomes=tuple((at + late, outcome) for at, outcome in self.outcomes), since=None)

    def outcome(self, seconds: float) -> Outcome:
        """Of a check that begins so long after the container's start."""
        found = Outcome.PASS
        for start, outcome in self.outcomes:
            if start > seconds:
                break
            found = outcome
        return found

    def next_trouble(self, seconds: float) -> float | None:
        """From when checks no longer pass, at `seconds` or later."""
        if self.outcome(seconds) is not Outcome.PASS:
            return seconds
        return next(
            (start for start, outcome in self.outcomes if start > seconds and outcome is not Outcome.PASS), None
        )


Probes = Mapping[Kind, Probe]


def probes_of(
    container: Mapping[str, Any],
    annotations: Mapping[str, str],
    ready_after: float,
    late: Collection[str] = (),
    since: datetime | None = None,
) -> Probes:
    """`late`, `since`: as in behaviour_of. `ready_after`: until then the readiness probe fails, where nothing else is
    said of it. Raises BehaviourError.
    """
    found: dict[Kind, Probe] = {}
    for kind, name in FIELDS.items():
        fields = container.get(name)
        if fields:
            text = said(container["name"], annotations, kind)
            outcomes = _outcomes(kind, text) if text else ()
            if kind is Kind.READINESS and ready_after and not text:
                outcomes = ((0.0, Outcome.FAIL), (ready_after, Outcome.PASS))
            words = (kind, "ready-after") if kind is Kind.READINESS else (kind,)
            is_new = any(is_late(container["name"], word, late) for word in words)
            found[kind] = _probe(fields, outcomes, since if is_new else None)
    return found


def pointless(containers: Sequence[Mapping[str, Any]], annotations: Mapping[str, str]) -> Iterator[BehaviourError]:
    """Annotations about probes that are not there."""
    for kind, field in FIELDS.items():
        probed = {container["name"] for container in containers if container.get(field)}
        for container in containers:
            word = f"{kind}.{container['name']}"
            if f"{PREFIX}{word}" in annotations and container["name"] not in probed:
                yield error(word, f"the container has no {field}")
        if f"{PREFIX}{kind}" in annotations and not probed:
            yield error(kind, f"no container has a {field}")


def _probe(fields: Mapping[str, Any], outcomes: Outcomes, since: datetime | None) -> Probe:
    return Probe(
        fields=fields,
        delay=float(fields.get("initialDelaySeconds") or 0),
        period=float(fields.get("periodSeconds") or 10),
        timeout=float(fields.get("timeoutSeconds") or 1),
        success_threshold=fields.get("successThreshold") or 1,
        failure_threshold=fields.get("failureThreshold") or 3,
        outcomes=outcomes,
        since=since,
    )


@lru_cache(maxsize=1024)  # of all there are in a cluster few differ; full: the least recent are read again
def _outcomes(kind: Kind, text: str) -> Outcomes:
    return tuple((seconds, _outcome(kind, word)) for word, seconds in over_time(kind, text, _EXAMPLE))


def _outcome(kind: Kind, word: str) -> Outcome:
    try:
        return Outcome(word)
    except ValueError:
        raise error(kind, f"{word!r} is no outcome of a check: pass, fail or hang; {_EXAMPLE}") from None
