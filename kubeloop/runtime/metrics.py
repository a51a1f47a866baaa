"""What a loop process counts, under the names kube-controller-manager and controller-runtime use.

The registry is handed in; a process without /metrics counts nothing and imports neither this nor prometheus_client.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kubeloop.runtime.queue_metrics import QueueMetrics

_QUEUE_BUCKETS = [1e-8 * 10**i for i in range(12)]


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
        self.reconciles = Counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ["controller", "result"],
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
