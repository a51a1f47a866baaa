"""Request metrics under upstream's names, and /metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

# Buckets of apiserver_request_duration_seconds, upstream's.
_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)


class Metrics:
    """Counts and times requests."""

    @dataclass(slots=True)
    class Measured:
        """One request as far as it is known; what stays empty was refused before it was known."""

        verb: str = ""
        resource: str = ""
        code: int = 200
        is_long: bool = False  # watches are counted, their duration says nothing

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.registry = CollectorRegistry()
        self._total = Counter(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP code",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self._duration = Histogram(
            "apiserver_request_duration_seconds",
            "Response latency by verb and resource",
            ["verb", "resource"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being carried out",
            ["request_kind"],
            registry=self.registry,
        )
        # Label lookups cost more than the counting: each label set is resolved once.
        self._totals: dict[tuple[str, str, int], Counter] = {}
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._kinds = {kind: self._in_flight.labels(kind) for kind in ("readOnly", "mutating")}

    @contextmanager
    def request(self, method: str) -> Iterator[Measured]:
        """Measure one request."""
        measured = Metrics.Measured()
        in_flight = self._kinds["readOnly" if method in ("GET", "HEAD") else "mutating"]
        in_flight.inc()
        began = self._monotonic()
        try:
            yield measured
        finally:
            in_flight.dec()
            self._count(measured, self._monotonic() - began)

    def _count(self, measured: Measured, seconds: float) -> None:
        verb = (measured.verb or "OTHER").upper()
        key = (verb, measured.resource, measured.code)
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = self._total.labels(verb, measured.resource, str(measured.code))
        total.inc()
        if not measured.is_long:
            duration = self._durations.get(key[:2])
            if duration is None:
                duration = self._durations[key[:2]] = self._duration.labels(verb, measured.resource)
            duration.observe(seconds)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
