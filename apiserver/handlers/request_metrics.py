"""How many requests there were, how long they took and how large their answers were, under upstream's names.

`KubernetesApi` opens a Measured for each request and tells it what it finds out; when the request ends, one lookup
finds the numbers of its label set. Names, labels and buckets are those of endpoints/metrics/metrics.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from kubeloop.apimachinery.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Histogram, Sample

_DURATIONS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_INDICATOR_DURATIONS = _DURATIONS[2:]  # of apiserver_request_sli_duration_seconds
_SIZES = tuple(1000.0 * 10**i for i in range(7))
# Every label set a client can make counts here; what comes on top is counted under verb "other" without the rest.
MAX_SERIES = 10_000

_METHODS = {"create": "POST", "delete": "DELETE", "deletecollection": "DELETE", "patch": "PATCH", "update": "PUT"}
_CONNECTS = frozenset({"attach", "exec", "log", "portforward", "proxy"})


class Labels(NamedTuple):
    """What requests are told apart by."""

    verb: str
    dry_run: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""

    def as_labels(self, *without: str) -> dict[str, str]:
        return {**{k: v for k, v in self._asdict().items() if k not in without}, "component": "apiserver"}


class _Series:
    """The numbers of one label set."""

    __slots__ = ("codes", "durations", "sizes", "terminated", "under_way")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.terminated: dict[int, int] = {}  # by the server, in self-defence
        self.durations = Histogram(_DURATIONS)
        self.sizes = Histogram(_SIZES)
        self.under_way = 0  # of requests that last


class Measured:
    """One request, as far as it is known; a context manager around it."""

    __slots__ = ("_began", "_is_long", "_requests", "code", "is_terminated", "labels", "size")

    def __init__(self, requests: Requests, method: str, began: float) -> None:
        self._requests, self._began = requests, began
        self.labels = _UNREAD.get(method, _OTHER)
        self.code = 200
        self.size = 0
        self.is_terminated = False
        self._is_long = False

    def long(self) -> None:
        """The request goes on for as long as its client likes: it counts among those that last."""
        self._is_long = True
        self._requests.series(self.labels).under_way += 1

    def __enter__(self) -> Measured:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._requests.ended(self, self._began, self._is_long)


# What is known of a request by its method alone.
_UNREAD = {method: Labels(method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")} | {"HEAD": Labels("GET")}
_OTHER = Labels("other")


class Requests:
    """Counts and times requests."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._series: dict[Labels, _Series] = {}
        self._deprecated: dict[tuple[str, ...], None] = {}

    def measure(self, method: str) -> Measured:
        return Measured(self, method, self._monotonic())

    def deprecated(self, group: str, version: str, resource: str, subresource: str) -> None:
        """Somebody asked for what will not be served for ever."""
        self._deprecated[group, version, resource, subresource] = None

    def series(self, labels: Labels) -> _Series:
        found = self._series.get(labels)
        if found is None:
            if len(self._series) >= MAX_SERIES:
                labels = _OTHER
            found = self._series.setdefault(labels, _Series())
        return found

    def ended(self, measured: Measured, began: float, is_long: bool) -> None:
        series, code = self.series(measured.labels), measured.code
        series.codes[code] = series.codes.get(code, 0) + 1
        series.durations.observe(self._monotonic() - began)
        if measured.labels.verb in ("GET", "LIST"):
            series.sizes.observe(measured.size)
        if is_long:
            series.under_way -= 1
        if measured.is_terminated:
            series.terminated[code] = series.terminated.get(code, 0) + 1

    def families(self) -> Iterator[Family]:
        known = list(self._series.items())
        yield Family(
            "apiserver_request_total",
            COUNTER,
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, "
            "scope, component, and HTTP response code.",
            _by_code((labels.as_labels(), series.codes) for labels, series in known),
        )
        yield Family(
            "apiserver_request_duration_seconds",
            HISTOGRAM,
            "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            [sample for labels, series in known for sample in series.durations.samples(labels.as_labels())],
        )
        yield Family(
            "apiserver_request_sli_duration_seconds",
            HISTOGRAM,
            "[ALPHA] Response latency distribution (not counting webhook duration and priority & fairness queue wait "
            "times) in seconds for each verb, group, version, resource, subresource, scope and component.",
            [
                sample
                for labels, series in known
                if not labels.dry_run
                for sample in series.durations.samples(labels.as_labels("dry_run"), _INDICATOR_DURATIONS)
            ],
        )
        yield Family(
            "apiserver_response_sizes",
            HISTOGRAM,
            "[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope "
            "and component.",
            [
                sample
                for labels, series in known
                if labels.verb in ("GET", "LIST")
                for sample in series.sizes.samples(labels.as_labels("dry_run"))
            ],
        )
        yield Family(
            "apiserver_longrunning_requests",
            GAUGE,
            "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, "
            "resource, scope and component. Not all requests are tracked this way.",
            [
                Sample(labels.as_labels("dry_run"), series.under_way)
                for labels, series in known
                if labels.verb in ("WATCH", "CONNECT")
            ],
        )
        yield Family(
            "apiserver_request_terminations_total",
            COUNTER,
            "[ALPHA] Number of requests which apiserver terminated in self-defense.",
            _by_code((labels.as_labels("dry_run"), series.terminated) for labels, series in known),
        )
        names = ("group", "version", "resource", "subresource")
        yield Family(
            "apiserver_requested_deprecated_apis",
            GAUGE,
            "[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, "
            "subresource, and removed_release.",
            [Sample({**dict(zip(names, one, strict=True)), "removed_release": ""}, 1) for one in self._deprecated],
        )


def reported_verb(verb: str, subresource: str, is_apply: bool) -> str:
    """A verb as metrics say it: by HTTP method, but for what a method does not tell."""
    if subresource in _CONNECTS:
        return "CONNECT"
    if is_apply:
        return "APPLY"
    return _METHODS.get(verb) or verb.upper()


def reported_dry_run(values: Sequence[str]) -> str:
    """The query parameter, told apart from what is none."""
    if not values:
        return ""
    return "All" if set(values) == {"All"} else "invalid"


def reported_scope(verb: str, namespace: str, name: str) -> str:
    if name or verb == "create":
        return "resource"
    return "namespace" if namespace else "cluster"


def _by_code(series: Iterator[tuple[dict[str, str], dict[int, int]]]) -> list[Sample]:
    return [Sample({**labels, "code": str(code)}, count) for labels, codes in series for code, count in codes.items()]
