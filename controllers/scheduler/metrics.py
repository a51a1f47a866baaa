"""What the scheduler counts, under kube-scheduler's names. Imported only where somebody scrapes it."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controllers.scheduler.diagnosis import Decision

_SECONDS = [0.001 * 2**i for i in range(15)]


class PrometheusSchedulerMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
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
            buckets=[0.01 * 2**i for i in range(20)],
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
        self._pending = Gauge(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means"
            " number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler"
            " attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler"
            " never attempted to schedule because they are gated.",
            ["queue"],
            registry=registry,
        )

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

    def bound(self, attempts: int, seconds: float) -> None:
        self._pod_attempts.observe(attempts)
        self._pod_seconds.labels(str(attempts) if attempts < 15 else "15+").observe(seconds)

    def pending(self, by_queue: Mapping[str, int]) -> None:
        for queue, number in by_queue.items():
            self._pending.labels(queue).set(number)
