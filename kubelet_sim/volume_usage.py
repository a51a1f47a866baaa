"""What pods keep in their emptyDir volumes, as annotations say it:

    kubeloop.io/volume-usage: 64Mi                       in each of them
    kubeloop.io/volume-usage.cache: 1Gi@0s,3Gi@1m        in the volume `cache`; seconds count from the pod's start
    kubeloop.io/volume-usage.cache: 50%                  of its sizeLimit

By itself a volume is empty. What is kept in memory (`medium: Memory`) is not on the node's disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubelet_sim.annotations import PREFIX, BehaviourError, error, said
from kubelet_sim.usage import Curve, curve
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.times import seconds_since

WORD = "volume-usage"


@dataclass(frozen=True, slots=True)
class VolumeUse:
    """`limit`: as the spec says it, "" where there is none."""

    name: str
    used: int  # bytes
    limit: str
    is_on_disk: bool

    @property
    def is_too_much(self) -> bool:
        return bool(self.limit) and 0 < parse(self.limit).value() < self.used


def in_use(pod: ReadOnlyObject, now: datetime) -> list[VolumeUse]:
    """Of the volumes of which something is said, in the order of the spec; none before the pod has started."""
    since = (pod.get("status") or {}).get("startTime")
    return [_in_use(volume, found, seconds_since(since, now)) for volume, found in _curves(pod)] if since else []


def on_disk(pod: ReadOnlyObject, now: datetime) -> int:
    """Of the pod's volumes together, in bytes."""
    return sum(one.used for one in in_use(pod, now) if one.is_on_disk)


def errors(pod: ReadOnlyObject) -> Iterator[BehaviourError]:
    """What cannot be understood, and what is about volumes that are not there."""
    annotations, volumes = annotations_of(pod), list(_empty_dirs(pod))
    names = {volume["name"] for volume in volumes}
    for annotation in annotations:
        if annotation.startswith(f"{PREFIX}{WORD}."):
            word = annotation.removeprefix(PREFIX)
            if word.removeprefix(f"{WORD}.") not in names:
                yield error(word, "the pod has no such emptyDir volume")
    if f"{PREFIX}{WORD}" in annotations and not names:
        yield error(WORD, "the pod has no emptyDir volume")
    for volume in volumes:
        try:
            _curve(volume, annotations)
        except BehaviourError as problem:
            yield problem


def _curves(pod: ReadOnlyObject) -> Iterator[tuple[Mapping[str, Any], Curve]]:
    annotations = annotations_of(pod)
    for volume in _empty_dirs(pod):
        try:
            found = _curve(volume, annotations)
        except BehaviourError:
            continue  # told as an event of the pod
        if found is not None:
            yield volume, found


def _curve(volume: Mapping[str, Any], annotations: Mapping[str, str]) -> Curve | None:
    """None where nothing is said. Raises BehaviourError."""
    text, limit = said(volume["name"], annotations, WORD), _limit(volume)
    if "%" in text and not limit:
        raise error(WORD, f"{text!r} of what? The volume {volume['name']} has no sizeLimit")
    return curve(WORD, text, parse(limit).approximate() if limit else None) if text else None


def _in_use(volume: Mapping[str, Any], found: Curve, age: float) -> VolumeUse:
    is_on_disk = (volume["emptyDir"] or {}).get("medium") != "Memory"
    return VolumeUse(volume["name"], int(found.average(age, age)), _limit(volume), is_on_disk)


def _limit(volume: Mapping[str, Any]) -> str:
    return str((volume["emptyDir"] or {}).get("sizeLimit") or "")


def _empty_dirs(pod: ReadOnlyObject) -> Iterator[Mapping[str, Any]]:
    return (volume for volume in pod["spec"].get("volumes") or () if "emptyDir" in volume)
