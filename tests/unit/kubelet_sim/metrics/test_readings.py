"""What a look at the cluster finds: whose usage is known, over which time, and how work is shared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubelet_sim.metrics.readings import SYSTEM, Readings, last_look, read
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
NODE = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def a_pod(name: str = "p", started: float = 600, ready: float = 500, node: str = "n", **annotations: str) -> Object:
    """Its container runs since `started` seconds and is ready since `ready` seconds."""
    said = {f"kubeloop.io/{word.replace('_', '-')}": text for word, text in annotations.items()}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": said},
        "spec": {"nodeName": node, "containers": [{"name": "c"}, {"name": "idle"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(ready)}],
            "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": ago(started)}}}],
        },
    }


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def looked(*pods: Object, nodes: Any = (NODE,), workload: ReadOnlyObject | None = None) -> Readings:
    return read(pods, nodes, lambda pod: workload, NOW, 15)


def cpu(readings: Readings, name: str = "p") -> float:
    return readings.pods[ObjectKey("default", name)].containers["c"]["cpu"]


def test_usage_is_the_average_since_the_last_look() -> None:
    """Of the 15 seconds that end with the look; the node's is that of its pods and of its system."""
    readings = looked(a_pod(started=15, cpu_usage="0@0s,1@15s"), a_pod("q", cpu_usage="2"))
    reading = readings.pods[ObjectKey("default", "p")]
    assert (reading.taken_at, reading.window_seconds) == (NOW, 15)
    assert cpu(readings) == pytest.approx(0.5)
    assert readings.nodes["n"].usage["cpu"] == pytest.approx(2.5 + SYSTEM["cpu"])


@pytest.mark.parametrize(("started", "window"), [(9, None), (10, 10), (14, 14), (15, 15), (600, 15), (-5, None)])
def test_a_container_is_known_after_ten_seconds(started: float, window: float | None) -> None:
    """Over the time it ran, as long as that is less than the time between two looks."""
    reading = looked(a_pod(started=started)).pods.get(ObjectKey("default", "p"))
    assert (reading.window_seconds if reading else None) == window


def test_nothing_is_known_of_pods_on_nodes_that_are_not_ready() -> None:
    """Nor of such nodes."""
    readings = looked(a_pod(node="other"), nodes=[{**NODE, "status": {}}])
    assert (readings.pods, readings.nodes) == ({}, {})


def test_ready_pods_share_the_load_of_their_workload() -> None:
    """On top of what each uses by itself; who became ready after the look does not help yet."""
    workload = {
        "metadata": {
            "name": "web",
            "uid": "w",
            "creationTimestamp": ago(60),
            "annotations": {"kubeloop.io/cpu-load": "0@0s,6@1m"},
        }
    }
    pods = [a_pod("a", cpu_usage="1"), a_pod("b", cpu_usage="1"), a_pod("late", ready=-1, cpu_usage="1")]
    readings = looked(*pods, workload=workload)
    assert cpu(readings, "a") == cpu(readings, "b") == pytest.approx(1 + 5.25 / 2)
    assert cpu(readings, "late") == 1


def test_a_load_that_is_not_understood_is_none() -> None:
    """So is an annotation of a pod: its container uses what it would without."""
    workload = {
        "metadata": {
            "name": "w",
            "uid": "w",
            "creationTimestamp": ago(60),
            "annotations": {"kubeloop.io/cpu-load": "x"},
        }
    }
    assert cpu(looked(a_pod(cpu_usage="x"), workload=workload)) == 0.001


def test_looks_are_at_the_same_times_everywhere() -> None:
    """At multiples of the resolution."""
    assert last_look(NOW + timedelta(seconds=29.5), 15) == NOW + timedelta(seconds=15)
