"""What a kubelet says that its node and pods use."""

from __future__ import annotations

from datetime import timedelta

from kubelet_sim.server.node_usage import resource_metrics, summary
from kubeloop.apimachinery.exposition import text
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.virtual_time import EPOCH
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

NODE: Object = {
    "metadata": {"name": "node-0", "creationTimestamp": format_time(EPOCH)},
    "status": {"capacity": {"memory": "1Gi", "ephemeral-storage": "10Gi"}},
}
MIB = 2**20


def a_busy_pod() -> Object:
    limits = {"limits": {"cpu": "500m", "memory": "100Mi"}}
    pod = a_pod(a_container(resources=limits))
    pod["metadata"]["annotations"] = {
        "kubeloop.io/cpu-usage": "100m@0s,300m@20s",
        "kubeloop.io/memory-usage": "64Mi",
        "kubeloop.io/ephemeral-storage-usage": "1Gi",
    }
    state = {"running": {"startedAt": format_time(EPOCH)}}
    pod["status"]["containerStatuses"] = [{"name": "c", "containerID": "one", "state": state}]
    return pod


def test_a_summary_adds_up() -> None:
    """CPU is the average of the last ten seconds and the sum of all; the node has its own system besides."""
    found = summary(NODE, [a_busy_pod()], EPOCH + timedelta(seconds=20))

    [pod] = found["pods"]
    [container] = pod["containers"]
    assert {"usageNanoCores": 250_000_000, "usageCoreNanoSeconds": 4_000_000_000}.items() <= container["cpu"].items()
    assert (64 * MIB, 2**30) == (container["memory"]["workingSetBytes"], container["rootfs"]["usedBytes"])
    assert container["cpu"] == pod["cpu"] and container["memory"] == pod["memory"]
    node = found["node"]
    assert (300_000_000, 320 * MIB) == (node["cpu"]["usageNanoCores"], node["memory"]["workingSetBytes"])
    assert (704 * MIB, 9 * 2**30) == (node["memory"]["availableBytes"], node["fs"]["availableBytes"])


def test_what_is_used_all_the_time_is_told_to_the_unit() -> None:
    """At whatever time somebody asks: sums of fractions of seconds do not make it a nanocore less."""
    pod = a_busy_pod()
    pod["metadata"]["annotations"]["kubeloop.io/cpu-usage"] = "100m"

    found = [summary(NODE, [pod], EPOCH + timedelta(milliseconds=137 * i)) for i in range(1, 500)]

    assert {100_000_000} == {one["pods"][0]["cpu"]["usageNanoCores"] for one in found}


def test_resources_are_measured_as_counters() -> None:
    """By container, pod and node; a pod that does not run is not there."""
    waiting = a_pod(a_container())

    told = text(resource_metrics(NODE, [a_busy_pod(), waiting], EPOCH + timedelta(seconds=20))).splitlines()

    labels = 'namespace="default",pod="p"'
    assert f'container_cpu_usage_seconds_total{{container="c",{labels}}} 4' in told
    assert f"pod_memory_working_set_bytes{{{labels}}} {64 * MIB}" in told
    assert "node_cpu_usage_seconds_total 5" in told
    assert 1 == sum(line.startswith("pod_cpu_usage_seconds_total") for line in told)
