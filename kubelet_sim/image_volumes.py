"""The images of a pod's `image` volumes: pulled one after the other before any of its containers starts. Pure.

Semantics: getImageVolumes and toKubeContainerImageVolumes of kuberuntime_manager.go (v1.36). What is pulled is told of
the pod; that it failed, of the containers that mount it, which wait for it, and others do not.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kubelet_sim import images, moments, tales
from kubelet_sim.behaviour import is_pullable
from kubelet_sim.scene import Scene
from kubelet_sim.state import Happening, PodRuntime, PodSpec, Pull, VolumeImage
from kubeloop.apimachinery.meta import ReadOnlyObject

Step = tuple[VolumeImage, Sequence[Happening]]


def of_spec(pod: ReadOnlyObject, used: Container[str] = ()) -> tuple[VolumeImage, ...]:
    """`used`: volumes that a container which has run mounts; their images are there."""
    return tuple(
        VolumeImage(
            volume["name"],
            source["reference"],
            source.get("pullPolicy") or "",
            Pull.DONE if volume["name"] in used else Pull.AHEAD,
        )
        for volume, source in _sources(pod)
    )


def references(pod: ReadOnlyObject) -> Iterator[str]:
    """Of the images, as the spec names them."""
    return (source["reference"] for _, source in _sources(pod))


def advance(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, list[Happening], datetime | None]:
    """After everything that was due by `now`, what is to be told of it, and when the next step is due."""
    told: list[Happening] = []
    if not runtime.volume_images or runtime.starts_nothing or not runtime.may_start:
        return runtime, told, None
    found, wakes = list(runtime.volume_images), list[datetime]()
    for i in range(len(found)):
        while (due := _due(found[i], runtime, now)) is not None and due <= now:
            found[i], happened = _step(pod, runtime, found[i], due)
            told += happened
        if due is not None:
            wakes.append(due)
        if not found[i].is_tried:
            break  # a kubelet waits for it
    if tuple(found) != runtime.volume_images:
        runtime = runtime._replace(volume_images=tuple(found))
    return runtime, told, min(wakes, default=None)


def waiting(image: VolumeImage) -> tuple[str, str]:
    """Reason and message of a container that waits for it; empty where nothing has failed."""
    if image.pull is Pull.REFUSED:
        return tales.refusal(image.reference)
    if image.pull is Pull.FAILED:
        return "ErrImagePull", tales.pull_error(image.reference)
    if image.pull is Pull.BACKOFF:
        why = f"ErrImagePull: {tales.pull_error(image.reference)}"
        return "ImagePullBackOff", f'Back-off pulling image "{image.reference}": {why}'
    return "", ""


def _due(image: VolumeImage, runtime: PodRuntime, now: datetime) -> datetime | None:
    if image.pull is Pull.AHEAD:
        return now
    if image.since is None:
        return None
    seconds = {
        Pull.UNDER_WAY: runtime.pull_seconds,
        Pull.FAILED: moments.NOTICE_SECONDS,
        Pull.BACKOFF: moments.backoff_seconds(image.failures) - moments.NOTICE_SECONDS,
    }.get(image.pull)
    return None if seconds is None else image.since + timedelta(seconds=seconds)


def _step(pod: PodSpec, runtime: PodRuntime, image: VolumeImage, at: datetime) -> Step:
    match image.pull:
        case Pull.AHEAD:
            return _begun(pod, runtime, image, at)
        case Pull.UNDER_WAY if is_pullable(image.reference):
            told = tales.newly_pulled(image.reference, runtime.pull_seconds)
            return image._replace(pull=Pull.DONE, since=at), (told,)
        case Pull.UNDER_WAY:
            failed = image._replace(pull=Pull.FAILED, since=at, failures=image.failures + 1)
            return failed, (tales.not_pulled(image.reference), *_errors(pod, runtime, failed, at))
        case Pull.FAILED:
            waits = image._replace(pull=Pull.BACKOFF, since=at)
            return waits, (tales.backs_off(image.reference), *_errors(pod, runtime, waits, at))
        case _:
            return image._replace(pull=Pull.UNDER_WAY, since=at), (tales.begins_pull(image.reference),)


def _begun(pod: PodSpec, runtime: PodRuntime, image: VolumeImage, at: datetime) -> Step:
    """Where it is not there already, or must not even be asked for."""
    is_never, is_always = image.policy == "Never", image.policy == "Always"
    if images.name_error(image.reference) or (is_never and not is_pullable(image.reference)):
        refused = image._replace(pull=Pull.REFUSED, since=at)
        return refused, (tales.refused(image.reference), *_errors(pod, runtime, refused, at))
    if is_never or (not is_always and images.reference(image.reference) in runtime.images):
        return image._replace(pull=Pull.DONE, since=at), (tales.is_present(image.reference),)
    return image._replace(pull=Pull.UNDER_WAY, since=at), (tales.begins_pull(image.reference),)


def _errors(pod: PodSpec, runtime: PodRuntime, image: VolumeImage, now: datetime) -> Iterator[Happening]:
    """Of the containers that would start now, and cannot."""
    reason, _ = waiting(image)
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        is_due = moments.its_place(Scene(pod, runtime, spec, container, now)) is not None
        if container.run is None and is_due and image.name in spec.mounted:
            yield Happening("Warning", "Failed", f"Error: {reason}", spec)


def _sources(pod: ReadOnlyObject) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for volume in pod["spec"].get("volumes") or ():
        source = volume.get("image") or {}
        if source.get("reference"):
            yield volume, source
