"""What is on the disks of a node, as its kubelet tells it in the summary: file systems, and the volumes of pods. Pure.

Facts: pkg/kubelet/server/stats/volume_stat_calculator.go and pkg/kubelet/stats/helper.go (v1.36). Volumes that show
files (ConfigMaps, Secrets, tokens) are told with a size that is always the same; images have a disk of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubelet_sim import volume_usage
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, name_of, namespace_of
from kubeloop.apimachinery.quantity import parse

Claims = Mapping[ObjectKey, int]  # claims that are bound -> their capacity in bytes

_BYTES_AN_INODE = 16_384  # as file systems are made
# A directory, the one in it that is named after the time of the write, and a file: a block each.
_FILES_BYTES, _FILES_INODES = 3 * 4096, 3
_ON_DISK, _IN_MEMORY = "configMap", ("secret", "downwardAPI", "projected")


@dataclass(frozen=True, slots=True)
class Disks:
    """Of a node, in bytes. `image_bytes`: what its images take."""

    storage: int
    memory: int
    image_bytes: int = 0


def file_system(capacity: int, used: int, time: str, inodes_used: int = 0) -> Object:
    """A stats.FsStats."""
    inodes = capacity // _BYTES_AN_INODE
    return {
        "time": time,
        "availableBytes": max(0, capacity - used),
        "capacityBytes": capacity,
        "usedBytes": used,
        "inodesFree": max(0, inodes - inodes_used),
        "inodes": inodes,
        "inodesUsed": inodes_used,
    }


def of_images(disks: Disks, time: str) -> Object:
    """A stats.RuntimeStats: images and the layers of containers lie together."""
    disk = file_system(disks.storage, disks.image_bytes, time)
    return {"imageFs": disk, "containerFs": disk}


def volumes(pod: ReadOnlyObject, disks: Disks, claims: Claims, now: datetime, time: str) -> list[Object]:
    """Those that a kubelet can measure; stats.VolumeStats."""
    return list(_volumes(pod, disks, claims, now, time))


def of_files(pod: ReadOnlyObject) -> int:
    """What the pod's ConfigMaps take of the node's disk, in bytes."""
    return _FILES_BYTES * sum(_ON_DISK in volume for volume in pod["spec"].get("volumes") or ())


def claims_of(pods: Sequence[ReadOnlyObject]) -> set[ObjectKey]:
    """That their volumes are of."""
    found = {_claim(pod, volume) for pod in pods for volume in pod["spec"].get("volumes") or ()}
    return {one for one in found if one is not None}


def _volumes(pod: ReadOnlyObject, disks: Disks, claims: Claims, now: datetime, time: str) -> Iterator[Object]:
    said = {one.name: one for one in volume_usage.in_use(pod, now)}
    for volume in pod["spec"].get("volumes") or ():
        name, claim = volume["name"], _claim(pod, volume)
        if "emptyDir" in volume:
            use, is_in_memory = said.get(name), (volume["emptyDir"] or {}).get("medium") == "Memory"
            capacity = _of_memory(volume["emptyDir"], disks) if is_in_memory else disks.storage
            yield {**file_system(capacity, use.used if use else 0, time, 1), "name": name}
        elif _ON_DISK in volume:
            yield {**file_system(disks.storage, _FILES_BYTES, time, _FILES_INODES), "name": name}
        elif any(word in volume for word in _IN_MEMORY):
            yield {**file_system(disks.memory, _FILES_BYTES, time, _FILES_INODES), "name": name}
        elif claim is not None and claim in claims:
            reference = {"name": claim.name, "namespace": claim.namespace}
            yield {**file_system(claims[claim], 0, time), "name": name, "pvcRef": reference}


def _of_memory(source: Mapping[str, Any], disks: Disks) -> int:
    limit = source.get("sizeLimit")
    return min(parse(str(limit)).value(), disks.memory) if limit else disks.memory


def _claim(pod: ReadOnlyObject, volume: Mapping[str, Any]) -> ObjectKey | None:
    if "persistentVolumeClaim" in volume:
        return ObjectKey(namespace_of(pod), volume["persistentVolumeClaim"]["claimName"])
    if "ephemeral" in volume:
        return ObjectKey(namespace_of(pod), f"{name_of(pod)}-{volume['name']}")
    return None
