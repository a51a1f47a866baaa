"""What the scheduler counts, under kube-scheduler's names."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from controllers.scheduler.metrics import PrometheusSchedulerMetrics
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import Scene


def counted(*scenes_and_pods: tuple[Scene, Object]) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics = PrometheusSchedulerMetrics(registry)
    for scene, pod in scenes_and_pods:
        metrics.attempted("default-scheduler", scene.decide(pod), 0.001)
    return registry


def test_attempts_by_their_result() -> None:
    scene = Scene([a_node("a")])

    registry = counted((scene, a_pod("p")), (scene, a_pod("q").requests(cpu="9")))

    for result in ("scheduled", "unschedulable"):
        labels = {"result": result, "profile": "default-scheduler"}
        assert 1 == registry.get_sample_value("scheduler_schedule_attempts_total", labels)


def test_preemptions_and_their_victims() -> None:
    """An attempt counts that finds nobody; one that is not made does not."""
    low = [a_pod(f"low{number}").requests(cpu="2").on("a") for number in range(2)]
    full = Scene([a_node("a")], low)
    large = a_pod("p").requests(cpu="4")

    registry = counted((full, large.copy()), (full, a_pod("p").requests(cpu="4").spec(priority=9)), (full, a_pod("q")))

    assert 2 == registry.get_sample_value("scheduler_preemption_attempts_total")
    assert (1, 2) == tuple(registry.get_sample_value(f"scheduler_preemption_victims_{of}") for of in ("count", "sum"))
