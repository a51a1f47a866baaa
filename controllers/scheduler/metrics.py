"""What the scheduler counts, under kube-scheduler's names. Imported only where somebody scrapes it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controllers.scheduler.cache import Cache
from controllers.scheduler.diagnosis import Decision
from controllers.scheduler.queue import SchedulingQueue

_SECONDS = [0.001 * 2**i for i in range(15)]
_LONG_SECONDS = [0.01 * 2**i for i in range(20)]


class PrometheusSchedulerMetrics:
    times_points = True

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        labels = ["result", "profile"]
        self._attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled,"
            " while 'error' means an internal scheduler problem.",
            labels,
            registry=registry,
        )
        self._attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            labels,
            buckets=_SECONDS,
            registry=registry,
        )
        self._pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            buckets=[1, 2, 4, 8, 16],
            registry=registry,
        )
        self._pod_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue",
            ["attempts"],
            buckets=_LONG_SECONDS,
            registry=registry,
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts_total",
            "Total preemption attempts in the cluster till now",
            registry=registry,
        )
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "Number of selected preemption victims",
            buckets=[2**i for i in range(7)],
            registry=registry,
        )
        self._algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency in seconds",
            buckets=_SECONDS,
            registry=registry,
        )
        self._point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point.",
            ["extension_point", "status", "profile"],
            buckets=[0.0001 * 2**i for i in range(12)],
            registry=registry,
        )
        self._permit_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "Duration of waiting on permit.",
            ["result"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._incoming = Counter(
            "scheduler_queue_incoming_pods_total",
            "Number of pods added to scheduling queues by event and queue type.",
            ["queue", "event"],
            registry=registry,
        )
        self._flushed = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout."
            " This metric helps detect potential queueing hint misconfigurations or event handling issues.",
            registry=registry,
        )
        self._removals = Counter(
            "scheduler_preemption_goroutines_execution_total",
            "Number of preemption goroutines executed.",
            ["result"],
            registry=registry,
        )
        self._removal_seconds = Histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            "Duration in seconds for running goroutines for the preemption.",
            ["result"],
            buckets=_LONG_SECONDS,
            registry=registry,
        )

    def follow(self, queue: SchedulingQueue, cache: Cache) -> None:
        self._registry.register(_Sizes(queue, cache))

    def came(self, queue: str, event: str) -> None:
        self._incoming.labels(queue, event).inc()

    def decided(self, seconds: float) -> None:
        self._algorithm_seconds.observe(seconds)

    def ran(self, point: str, status: str, profile: str, seconds: float) -> None:
        self._point_seconds.labels(point, status, profile).observe(seconds)

    def waited(self, result: str, seconds: float) -> None:
        self._permit_seconds.labels(result).observe(seconds)

    def preempted(self, result: str, seconds: float) -> None:
        self._removals.labels(result).inc()
        self._removal_seconds.labels(result).observe(seconds)

    def attempted(self, profile: str, decision: Decision, seconds: float) -> None:
        status = decision.status
        result = "scheduled" if status is None else "unschedulable" if status.is_rejected else "error"
        self._attempts.labels(result, profile).inc()
        self._attempt_seconds.labels(result, profile).observe(seconds)
        victims = decision.nomination.victims if decision.nomination is not None else ()
        if victims or "preemption: " in decision.diagnosis.post_filter_message:
            self._preemptions.inc()
        if victims:
            self._victims.observe(len(victims))

    def bound(self, attempts: int, seconds: float, was_flushed: bool) -> None:
        self._pod_attempts.observe(attempts)
        self._pod_seconds.labels(str(attempts) if attempts < 15 else "15+").observe(seconds)
        if was_flushed:
            self._flushed.inc()


class _Sizes(Collector):
    """How many there are of what: counted when somebody scrapes."""

    def __init__(self, queue: SchedulingQueue, cache: Cache) -> None:
        self._queue, self._cache = queue, cache

    def collect(self) -> Iterator[Metric]:
        pending = GaugeMetricFamily(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means"
            " number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler"
            " attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler"
            " never attempted to schedule because they are gated.",
            labels=["queue"],
        )
        for queue, number in self._queue.counts().items():
            pending.add_metric([queue], number)
        refused = GaugeMetricFamily(
            "scheduler_unschedulable_pods",
            "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all"
            " plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
            labels=["plugin", "profile"],
        )
        for labels, number in sorted(self._queue.refused_by().items()):
            refused.add_metric(labels, number)
        cache = GaugeMetricFamily(
            "scheduler_cache_size",
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            labels=["type"],
        )
        known = {"assumed_pods": self._cache.assumed_count, "pods": self._cache.pod_count}
        for kind, number in {**known, "nodes": self._cache.node_count}.items():
            cache.add_metric([kind], number)
        yield from (pending, refused, cache)
