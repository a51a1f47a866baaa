"""What a kubelet says that is on the disks of its node: volumes of pods, images, and the pods' own files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kubelet_sim.server.node_disks import claims_of
from kubelet_sim.server.node_usage import summary
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.virtual_time import EPOCH
from tests.unit.kubelet_sim.test_node_usage import NODE, a_busy_pod

GIB = 2**30
NOW = EPOCH + timedelta(seconds=20)
FILES = 3 * 4096  # whatever is in them


def a_pod_with(*volumes: Object, **said: str) -> Object:
    pod = a_busy_pod()
    pod["metadata"]["annotations"] |= {f"kubeloop.io/volume-usage.{name}": text for name, text in said.items()}
    pod["spec"]["volumes"] = list(volumes)
    pod["status"]["startTime"] = format_time(EPOCH)
    return pod


def told(pod: Object, **more: Any) -> dict[str, Object]:
    """Its volumes by name."""
    [found] = summary(NODE, [pod], NOW, **more)["pods"]
    return {one["name"]: one for one in found.get("volume", ())}


def test_what_is_in_an_empty_dir_is_told() -> None:
    """Of the node's disk, or of its memory; nothing by itself."""
    in_memory = {"medium": "Memory", "sizeLimit": "64Mi"}
    volumes = ({"name": "cache", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}, {"name": "m", "emptyDir": in_memory})

    found = told(a_pod_with(*volumes, cache="1Gi@0s,3Gi@20s"))

    assert {
        "cache": (3 * GIB, 7 * GIB, 10 * GIB),
        "tmp": (0, 10 * GIB, 10 * GIB),
        "m": (0, 64 * 2**20, 64 * 2**20),
    } == {name: (one["usedBytes"], one["availableBytes"], one["capacityBytes"]) for name, one in found.items()}


def test_files_that_volumes_show_take_some_room() -> None:
    """ConfigMaps on the node's disk, the others in memory; what a kubelet cannot measure is not told."""
    sources = ("configMap", "secret", "downwardAPI", "projected", "hostPath", "image")

    found = told(a_pod_with(*({"name": source.lower(), source: {}} for source in sources)))

    assert ["configmap", "secret", "downwardapi", "projected"] == list(found)
    assert {FILES} == {one["usedBytes"] for one in found.values()}
    assert [10 * GIB, GIB] == [found[name]["capacityBytes"] for name in ("configmap", "secret")]


def test_claims_are_named() -> None:
    """With what they hold, those of ephemeral volumes by their names; one that is not bound is not told."""
    pod = a_pod_with(
        {"name": "data", "persistentVolumeClaim": {"claimName": "web-data"}},
        {"name": "scratch", "ephemeral": {}},
        {"name": "gone", "persistentVolumeClaim": {"claimName": "gone"}},
    )
    data, scratch = ObjectKey("default", "web-data"), ObjectKey("default", "p-scratch")
    assert {data, scratch, ObjectKey("default", "gone")} == claims_of([pod])

    found = told(pod, claims={data: 5 * GIB, scratch: GIB})

    assert ["data", "scratch"] == list(found)
    assert ({"name": "web-data", "namespace": "default"}, 5 * GIB) == (
        found["data"]["pvcRef"],
        found["data"]["capacityBytes"],
    )


def test_disks_add_up() -> None:
    """What a pod has written, its volumes on disk among it, fills the disk of its node; images have their own."""
    pod = a_pod_with({"name": "cache", "emptyDir": {}}, {"name": "config", "configMap": {}}, cache="2Gi")

    found = summary(NODE, [pod], NOW, image_bytes=GIB)

    whole = 3 * GIB + FILES  # the container has written 1Gi
    assert (whole, whole) == (found["pods"][0]["ephemeral-storage"]["usedBytes"], found["node"]["fs"]["usedBytes"])
    assert 10 * GIB - whole == found["node"]["fs"]["availableBytes"]
    images = found["node"]["runtime"]["imageFs"]
    assert (GIB, 9 * GIB, 10 * GIB) == (images["usedBytes"], images["availableBytes"], images["capacityBytes"])


def test_memory_is_available_up_to_a_limit() -> None:
    """Of a pod where each of its containers has one; of the node up to all that it has."""
    limited, free = a_busy_pod(), a_busy_pod()
    free["spec"]["containers"][0]["resources"] = {}

    found = summary(NODE, [limited, free], NOW)

    parts = [one for pod in found["pods"] for one in (pod, pod["containers"][0])]
    assert [36 * 2**20, 36 * 2**20, None, None] == [one["memory"].get("availableBytes") for one in parts]
    assert GIB - (256 + 128) * 2**20 == found["node"]["memory"]["availableBytes"]


def test_systems_are_told_beside_pods() -> None:
    """As the system containers of a kubelet: together they are what the node uses."""
    node = summary(NODE, [a_busy_pod()], NOW)["node"]

    parts = {one["name"]: one["memory"]["usageBytes"] for one in node["systemContainers"]}
    assert {"kubelet": 256 * 2**20, "pods": 64 * 2**20} == parts
    assert sum(parts.values()) == node["memory"]["usageBytes"]
