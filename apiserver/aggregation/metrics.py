"""Whether APIServices are available, under upstream's names (kube-aggregator's status/metrics, v1.36)."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.aggregation.availability import Verdict
from apiserver.aggregation.remote import API_SERVICES, is_available
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.exposition import COUNTER, GAUGE, Family, Sample
from kubeloop.apimachinery.meta import name_of


class AvailabilityMetrics:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lost: dict[tuple[str, str], int] = {}  # (name, reason): as many as there were APIServices

    def became(self, name: str, verdict: Verdict) -> None:
        """One that was available is judged anew."""
        if not verdict.is_good:
            self._lost[name, verdict.reason] = self._lost.get((name, verdict.reason), 0) + 1

    def families(self) -> Iterator[Family]:
        listed = self._reader.list(API_SERVICES)
        yield Family(
            "aggregator_unavailable_apiservice",
            GAUGE,
            "[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.",
            [Sample({"name": name_of(one)}, 0 if is_available(one) else 1) for one in listed],
        )
        yield Family(
            "aggregator_unavailable_apiservice_total",
            COUNTER,
            "[ALPHA] Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
            [Sample({"name": name, "reason": reason}, count) for (name, reason), count in self._lost.items()],
        )
