"""Metrics of admission webhooks, under upstream's names (k8s.io/apiserver/pkg/admission/metrics, v1.36)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kubeloop.apimachinery.exposition import COUNTER, HISTOGRAM, Family, Histogram, Sample

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25)
_MAX_CODE = 600  # webhooks make codes up; a label must not have more values than there are codes
_PREFIX = "apiserver_admission_webhook"

ADMIT, VALIDATING = "admit", "validating"
CALLING_ERROR, SERVER_ERROR, NO_ERROR = "calling_webhook_error", "apiserver_internal_error", "no_error"

_DURATION = ("name", "type", "operation", "rejected")
_REJECTION = ("name", "type", "operation", "error_type", "rejection_code")
_FAIL_OPEN = ("name", "type")
_REQUEST = ("name", "type", "operation", "code", "rejected")


class WebhookMetrics:
    """`step` is "admit" for mutating webhooks and "validating" for the others, as upstream's label `type`.

    Grows with the names of webhooks there ever were.
    """

    def __init__(self) -> None:
        self._durations: dict[tuple[str, ...], Histogram] = {}
        self._rejections: Counter[tuple[str, ...]] = Counter()
        self._fail_open: Counter[tuple[str, ...]] = Counter()
        self._requests: Counter[tuple[str, ...]] = Counter()

    def called(self, name: str, step: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        shown = "true" if rejected else "false"
        self._durations.setdefault((name, step, operation, shown), Histogram(_BOUNDS)).observe(seconds)
        self._requests[name, step, operation, str(min(code, _MAX_CODE)), shown] += 1

    def rejected(self, name: str, step: str, operation: str, error_type: str, code: int) -> None:
        self._rejections[name, step, operation, error_type, str(min(code, _MAX_CODE))] += 1

    def failed_open(self, name: str, step: str) -> None:
        self._fail_open[name, step] += 1

    def families(self) -> Iterator[Family]:
        yield Family(
            f"{_PREFIX}_admission_duration_seconds",
            HISTOGRAM,
            "[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each "
            "operation and API resource and type (validate or admit).",
            [
                sample
                for key, histogram in self._durations.items()
                for sample in histogram.samples(dict(zip(_DURATION, key, strict=True)))
            ],
        )
        yield _counter(
            "rejection_count",
            "Admission webhook rejection count, identified by name and broken out for each admission type (validating "
            "or admit) and operation. Additional labels specify an error type (calling_webhook_error or "
            "apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection "
            "code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code "
            "is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality "
            "bounded.",
            _REJECTION,
            self._rejections,
        )
        yield _counter(
            "fail_open_count",
            "Admission webhook fail open count, identified by name and broken out for each admission type (validating "
            "or admit).",
            _FAIL_OPEN,
            self._fail_open,
        )
        yield _counter(
            "request_total",
            "Admission webhook request total, identified by name and broken out for each admission type (validating or "
            "admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP "
            "status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
            _REQUEST,
            self._requests,
        )


def _counter(name: str, text: str, labels: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> Family:
    samples = [Sample(dict(zip(labels, key, strict=True)), count) for key, count in counts.items()]
    return Family(f"{_PREFIX}_{name}", COUNTER, f"[ALPHA] {text}", samples)
