"""How long admission takes, as a whole and plugin by plugin, under upstream's names.

Names, labels and buckets are those of apiserver/pkg/admission/metrics (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.apimachinery.exposition import HISTOGRAM, Family, Histogram, Sample

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)


class Times:
    """Of one plugin, or of all of them, on one operation: those that let the write pass, and those that refused it."""

    __slots__ = ("passed", "refused")

    def __init__(self) -> None:
        self.passed, self.refused = Histogram(_BOUNDS), Histogram(_BOUNDS)


class AdmissionMetrics:
    """The times of one chain; as many as there are plugins and operations."""

    def __init__(self) -> None:
        self._steps: dict[tuple[str, str], Times] = {}
        self._plugins: dict[tuple[str, str, str], Times] = {}

    def step(self, kind: str, operation: str) -> Times:
        """`kind` is admit or validate."""
        return self._steps.setdefault((kind, operation), Times())

    def plugin(self, name: str, kind: str, operation: str) -> Times:
        return self._plugins.setdefault((name, kind, operation), Times())

    def families(self) -> Iterator[Family]:
        yield Family(
            "apiserver_admission_step_admission_duration_seconds",
            HISTOGRAM,
            "[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API resource "
            "and step type (validate or admit).",
            [
                sample
                for (kind, operation), times in self._steps.items()
                for sample in _samples(times, {"type": kind, "operation": operation})
            ],
        )
        yield Family(
            "apiserver_admission_controller_admission_duration_seconds",
            HISTOGRAM,
            "[STABLE] Admission controller latency histogram in seconds, identified by name and broken out for each "
            "operation and API resource and type (validate or admit).",
            [
                sample
                for (name, kind, operation), times in self._plugins.items()
                for sample in _samples(times, {"name": name, "type": kind, "operation": operation})
            ],
        )


def _samples(times: Times, labels: dict[str, str]) -> Iterator[Sample]:
    for rejected, histogram in (("false", times.passed), ("true", times.refused)):
        if any(histogram.counts):
            yield from histogram.samples({**labels, "rejected": rejected})
