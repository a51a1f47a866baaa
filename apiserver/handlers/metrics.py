"""/metrics: what every part of the server counts, in one text.

`server.py` tells it the parts (`Source`); requests themselves are counted in `request_metrics.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from apiserver.handlers.limits import InFlightLimits
from apiserver.handlers.request_metrics import Requests
from apiserver.registry.catalog import Catalog
from apiserver.watch.cache import WatchCache
from kubeloop.apimachinery.exposition import GAUGE, Family, Sample, text

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Source = Callable[[], Iterable[Family]]


class Metrics:
    """Gathers families when somebody asks for them; nothing is worked out before."""

    def __init__(self, monotonic: Callable[[], float], sources: Iterable[Source] = ()) -> None:
        self.requests = Requests(monotonic)
        self._sources: list[Source] = [self.requests.families, *sources]
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)

    def add(self, *sources: Source) -> None:
        self._sources += sources

    def text(self) -> bytes:
        """The exposition format."""
        own = text(family for source in self._sources for family in source())
        return own.encode() + generate_latest(self._process)


def in_flight(limits: InFlightLimits) -> Source:
    """Requests under way, as the limits count them."""

    def families() -> Iterator[Family]:
        yield Family(
            "apiserver_current_inflight_requests",
            GAUGE,
            "[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in "
            "last second.",
            [
                Sample({"request_kind": "mutating"}, limits.writes.taken),
                Sample({"request_kind": "readOnly"}, limits.reads.taken),
            ],
        )

    return families


def stored_objects(catalog: Catalog, cache: WatchCache) -> Source:
    """How many objects there are of each kind that is stored."""

    def families() -> Iterator[Family]:
        kinds = {kind.storage: kind for kind in catalog if kind.is_stored}
        counts = [(storage, kind.group, cache.count(storage)) for storage, kind in sorted(kinds.items())]
        described = "Number of stored objects at the time of last check split by kind. In case of a fetching error, "
        described += "the value will be -1."
        yield Family(
            "apiserver_resource_objects",
            GAUGE,
            f"[ALPHA] {described}",
            [Sample({"group": group, "resource": name.partition(".")[0]}, count) for name, group, count in counts],
        )
        yield Family(
            "apiserver_storage_objects",
            GAUGE,
            f"[STABLE] [DEPRECATED, consider using apiserver_resource_objects instead] {described}",
            [Sample({"resource": name}, count) for name, _, count in counts],
        )

    return families


def build_info(labels: dict[str, str]) -> Source:
    """Which server this is."""

    def families() -> Iterator[Family]:
        described = "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git "
        described += "tree state, build date, Go version, and compiler from which Kubernetes was built, and platform "
        described += "on which it is running."
        yield Family("kubernetes_build_info", GAUGE, described, [Sample(labels, 1)])

    return families
