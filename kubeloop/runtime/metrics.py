"""What a loop process counts, under the names kube-controller-manager and controller-runtime use.

The registry is handed in; a process without /metrics counts nothing and imports neither this nor prometheus_client.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kubeloop.runtime.queue_metrics import QueueMetrics
from kubeloop.runtime.result import ReconcileTimeout, TerminalError, is_foreseen

_RESULTS = ("success", "error", "requeue", "requeue_after")
_QUEUE_BUCKETS = [1e-8 * 10**i for i in range(12)]
_RECONCILE_BUCKETS = [
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
]


class RuntimeMetrics:
    """The metrics of one process, registered once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        name = ["name"]
        self.queue_depth = Gauge("workqueue_depth", "Current depth of workqueue", name, registry=registry)
        self.queue_adds = Counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", name, registry=registry
        )
        self.queue_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested.",
            name,
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.work_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            name,
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.queue_retries = Counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", name, registry=registry
        )
        self.unfinished_seconds = Gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration."
            " Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at"
            " which this increases.",
            name,
            registry=registry,
        )
        self.longest_running_seconds = Gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            name,
            registry=registry,
        )
        self.reconciles = Counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ["controller", "result"],
            registry=registry,
        )
        controller = ["controller"]
        self.reconcile_errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            controller,
            registry=registry,
        )
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            controller,
            registry=registry,
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics_total",
            "Total number of reconciliation panics per controller: exceptions that no reconciler means to raise",
            controller,
            registry=registry,
        )
        self.timeouts = Counter(
            "controller_runtime_reconcile_timeouts_total",
            "Total number of reconciliation timeouts per controller",
            controller,
            registry=registry,
        )
        self.reconcile_seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            controller,
            registry=registry,
            buckets=_RECONCILE_BUCKETS,
        )
        self.max_concurrent = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            controller,
            registry=registry,
        )
        self.active_workers = Gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            controller,
            registry=registry,
        )
        self.leader = Gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master."
            " 'name' is the string used to identify the lease. Please make sure to group by name.",
            name,
            registry=registry,
        )
        self.dropped_events = Counter(
            "event_recorder_dropped_total",
            "Events never sent: the queue was full, the source too chatty, or the API refused",
            ["component", "reason"],
            registry=registry,
        )

    def queue(self, name: str) -> QueueMetrics:
        return _PrometheusQueueMetrics(self, name)

    def controller(self, name: str, workers: int) -> ControllerMetrics:
        self.max_concurrent.labels(name).set(workers)
        return ControllerMetrics(self, name)

    def follow_running(self, name: str, running_seconds: Callable[[], Sequence[float]]) -> None:
        """How long what a queue's workers hold has been with them: asked when somebody scrapes, not before."""
        self.unfinished_seconds.labels(name).set_function(lambda: sum(running_seconds()))
        self.longest_running_seconds.labels(name).set_function(lambda: max(running_seconds(), default=0))


class ControllerMetrics:
    """What one controller reports: every reconcile `began`, then `succeeded` or `failed`, and `took` so long."""

    def __init__(self, metrics: RuntimeMetrics, name: str) -> None:
        self._results = {result: metrics.reconciles.labels(name, result) for result in _RESULTS}
        self._errors = metrics.reconcile_errors.labels(name)
        self._terminal_errors = metrics.terminal_errors.labels(name)
        self._panics = metrics.panics.labels(name)
        self._timeouts = metrics.timeouts.labels(name)
        self._seconds = metrics.reconcile_seconds.labels(name)
        self._active_workers = metrics.active_workers.labels(name)

    def began(self) -> None:
        self._active_workers.inc()

    def took(self, seconds: float) -> None:
        self._active_workers.dec()
        self._seconds.observe(seconds)

    def succeeded(self, result: str) -> None:
        """`success`, `requeue` or `requeue_after`."""
        self._results[result].inc()

    def failed(self, error: Exception) -> None:
        self._results["error"].inc()
        self._errors.inc()
        if isinstance(error, TerminalError):
            self._terminal_errors.inc()
        elif isinstance(error, ReconcileTimeout):
            self._timeouts.inc()
        elif not is_foreseen(error):
            self._panics.inc()


class _PrometheusQueueMetrics:
    """Label lookups are done once: these are called several times a reconcile."""

    def __init__(self, metrics: RuntimeMetrics, name: str) -> None:
        self._depth = metrics.queue_depth.labels(name)
        self._adds = metrics.queue_adds.labels(name)
        self._waited = metrics.queue_seconds.labels(name)
        self._worked = metrics.work_seconds.labels(name)
        self._retries = metrics.queue_retries.labels(name)

    def added(self) -> None:
        self._adds.inc()

    def depth(self, depth: int) -> None:
        self._depth.set(depth)

    def started(self, depth: int, waited_seconds: float) -> None:
        self._depth.set(depth)
        self._waited.observe(waited_seconds)

    def finished(self, worked_seconds: float) -> None:
        self._worked.observe(worked_seconds)

    def retried(self) -> None:
        self._retries.inc()
