"""What the scheduler counts, under kube-scheduler's names."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from prometheus_client import CollectorRegistry

from controllers.scheduler.interface import CycleState, PermitPlugin
from controllers.scheduler.metrics import PrometheusSchedulerMetrics
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.status import Code, Status
from kubeloop.apimachinery.errors import InternalError
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.fake_server import FakeServer, with_scheduler
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


def scraped(test: Callable[[FakeServer], Coroutine[Any, Any, None]], **how: Any) -> CollectorRegistry:
    """What is counted when `test` is over."""
    registry = CollectorRegistry()
    with_scheduler(test, metrics=PrometheusSchedulerMetrics(registry), **how)
    return registry


def samples(registry: CollectorRegistry, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """By the values of these labels."""
    return {
        tuple(sample.labels[label] for label in labels): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == name
    }


async def one_waits_one_is_bound(server: FakeServer) -> None:
    server.put(a_node("a"))
    server.put(a_pod("web"))
    server.put(a_pod("large").requests(cpu="9").node_selector(disk="ssd"))
    await server.clock.sleep(2)


def test_sizes_are_those_at_the_time_of_asking() -> None:
    """Of the queues, of the cache, and of who is refused by which plugin."""
    registry = scraped(one_waits_one_is_bound)

    pending = {("active",): 0, ("backoff",): 0, ("unschedulable",): 1, ("gated",): 0}
    assert pending == samples(registry, "scheduler_pending_pods", "queue")
    cached = {("assumed_pods",): 0, ("pods",): 1, ("nodes",): 1}
    assert cached == samples(registry, "scheduler_cache_size", "type")
    refused = samples(registry, "scheduler_unschedulable_pods", "plugin", "profile")
    assert {("NodeAffinity", "default-scheduler"): 1} == refused


def test_pods_that_come_into_a_queue_are_counted_by_the_event() -> None:
    """In upstream's names of events."""

    async def test(server: FakeServer) -> None:
        server.put(a_pod("gated").spec(schedulingGates=[{"name": "x"}]))
        await one_waits_one_is_bound(server)
        server.put(a_node("a").labels(disk="hdd"))
        server.put(a_node("a").labels(disk="ssd"))
        await server.clock.sleep(2)

    incoming = samples(scraped(test), "scheduler_queue_incoming_pods_total", "queue", "event")

    assert {
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("active", "UnschedulablePodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 2,
        ("active", "NodeUpdateNodeLabel"): 1,
    } == incoming


def test_extension_points_are_timed() -> None:
    """By how they ended; a point that nobody has, as Permit, ends well."""
    name = "scheduler_framework_extension_point_duration_seconds_count"
    counts = samples(scraped(one_waits_one_is_bound), name, "extension_point", "status")

    points = ("PreFilter", "Filter", "PostFilter", "Reserve", "Permit", "PreBind", "Bind", "PostBind")
    endings = {point: status for point, status in counts if point in points}
    assert {**dict.fromkeys(points, "Success"), "PostFilter": "Unschedulable"} == {"PreBind": "Success", **endings}
    assert 2 == counts["PreFilter", "Success"]


def test_an_attempt_ends_with_its_binding() -> None:
    """One whose binding fails is an error, and its time has that of the binding."""

    async def test(server: FakeServer) -> None:
        server.refusals.append(InternalError("no luck"))
        server.put(a_node("a"))
        server.put(a_pod("web"))
        await server.clock.sleep(30)

    registry = scraped(test, bind_seconds=5)

    assert {("error",): 1, ("scheduled",): 1} == samples(registry, "scheduler_schedule_attempts_total", "result")
    seconds = samples(registry, "scheduler_scheduling_attempt_duration_seconds_sum", "result")
    assert {("error",): 5, ("scheduled",): 5} == seconds
    assert {(): 0} == samples(registry, "scheduler_scheduling_algorithm_duration_seconds_sum")


def test_removals_are_counted_by_how_they_ended() -> None:
    async def test(server: FakeServer) -> None:
        server.put(a_node("a"))
        server.put(a_pod("low").requests(cpu="3").on("a"))
        server.put(a_pod("high").requests(cpu="3").spec(priority=9))
        await server.clock.sleep(3)

    removals = samples(scraped(test), "scheduler_preemption_goroutines_execution_total", "result")

    assert {("success",): 1} == removals


def test_a_pod_that_no_event_had_brought_back_is_counted() -> None:
    """It was tried again because five minutes had passed, and then had a node."""

    async def test(server: FakeServer) -> None:
        server.put(a_node("a"))
        server.put(a_pod("p").requests(cpu="3").node_selector(disk="ssd"))
        await server.clock.sleep(2)
        server.scheduler.cache.set_node(a_node("a").labels(disk="ssd"))
        await server.clock.sleep(400)

    assert {(): 1} == samples(scraped(test), "scheduler_pod_scheduled_after_flush_total")


class Slow(PermitPlugin):
    """Holds every pod back, for five seconds at most."""

    NAME = "Slow"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        return Status(Code.WAIT), 5


def test_waits_for_a_permit_are_timed() -> None:
    """By how they ended: here nobody allowed the pod in time, and what was reserved for it is given back."""

    async def test(server: FakeServer) -> None:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(5.5)

    registry = scraped(test, profiles=[Profile(plugins=(Entry(Slow), *DEFAULT_PLUGINS))])

    assert {("Unschedulable",): 5} == samples(registry, "scheduler_permit_wait_duration_seconds_sum", "result")
    name = "scheduler_framework_extension_point_duration_seconds_count"
    points = samples(registry, name, "extension_point", "status")
    assert (2, 1) == (points["Permit", "Wait"], points["Unreserve", "Success"])  # it is tried again at once
