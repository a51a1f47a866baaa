"""Conversions by webhook, counted and timed under upstream's names.

Names, labels and buckets are those of apiextensions-apiserver/pkg/apiserver/conversion/metrics.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.apimachinery.exposition import COUNTER, HISTOGRAM, Family, Histogram, Sample

_CONVERSION_BOUNDS = tuple(0.001 * 2**i for i in range(15))
_CALL_BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60)


class ConversionMetrics:
    """Of one server; as many numbers as definitions have versions to convert between."""

    def __init__(self) -> None:
        self._conversions: dict[tuple[str, str, str, bool], Histogram] = {}
        self._calls: dict[str, Histogram] = {}  # by what they failed of, "" where they did not

    def called(self, seconds: float, failure: str = "") -> None:
        """One review was answered, or failed for a reason of `conversion_review`'s."""
        self._calls.setdefault(failure, Histogram(_CALL_BOUNDS)).observe(seconds)

    def converted(self, definition: str, before: str, after: str, seconds: float, *, succeeded: bool) -> None:
        """The same by definition and versions, given as apiVersions."""
        key = (definition, before.rpartition("/")[2], after.rpartition("/")[2], succeeded)
        self._conversions.setdefault(key, Histogram(_CONVERSION_BOUNDS)).observe(seconds)

    def families(self) -> Iterator[Family]:
        yield Family(
            "apiserver_crd_conversion_webhook_duration_seconds",
            HISTOGRAM,
            "[ALPHA] CRD webhook conversion duration in seconds",
            [
                sample
                for (definition, before, after, succeeded), times in self._conversions.items()
                for sample in times.samples(
                    {
                        "crd_name": definition,
                        "from_version": before,
                        "to_version": after,
                        "succeeded": str(succeeded).lower(),
                    }
                )
            ],
        )
        yield Family(
            "apiserver_conversion_webhook_request_total",
            COUNTER,
            "[ALPHA] Counter for conversion webhook requests with success/failure and failure error type",
            [Sample(_outcome(failure), sum(times.counts)) for failure, times in self._calls.items()],
        )
        yield Family(
            "apiserver_conversion_webhook_duration_seconds",
            HISTOGRAM,
            "[ALPHA] Conversion webhook request latency",
            [sample for failure, times in self._calls.items() for sample in times.samples(_outcome(failure))],
        )


def _outcome(failure: str) -> dict[str, str]:
    return {"result": "failure" if failure else "success", "failure_type": failure}
