"""When a pod ended, as far as anybody noted it. Pure (getFinishedTime of pkg/controller/job, v1.36)."""

from __future__ import annotations

from datetime import datetime

from controllers import pods
from kubeloop.apimachinery.meta import ReadOnlyObject, metadata
from kubeloop.apimachinery.times import moment_after, parse_time


def finished_at(pod: ReadOnlyObject) -> datetime:
    """When its last container ended, or it stopped being ready, or was deleted; failing all that, its creation."""
    return (
        _containers_ended(pod)
        or _stopped_being_ready(pod)
        or _was_deleted(pod)
        or parse_time(metadata(pod)["creationTimestamp"])
    )


def _containers_ended(pod: ReadOnlyObject) -> datetime | None:
    """The latest end of a container or sidecar; None while one of them has not ended."""
    status = pod.get("status") or {}
    init_containers = (pod.get("spec") or {}).get("initContainers") or ()
    sidecars = {container["name"] for container in init_containers if container.get("restartPolicy") == "Always"}
    ends = [_ended(entry) for entry in status.get("containerStatuses") or ()]
    ends += [_ended(entry) for entry in status.get("initContainerStatuses") or () if entry.get("name") in sidecars]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _ended(status: ReadOnlyObject) -> datetime | None:
    text = ((status.get("state") or {}).get("terminated") or {}).get("finishedAt")
    return parse_time(text) if text else None


def _stopped_being_ready(pod: ReadOnlyObject) -> datetime | None:
    condition = pods.ready_condition(pod)
    if condition is None or condition.get("status") != "False" or not condition.get("lastTransitionTime"):
        return None
    return parse_time(condition["lastTransitionTime"])


def _was_deleted(pod: ReadOnlyObject) -> datetime | None:
    text = metadata(pod).get("deletionTimestamp")
    if not text:
        return None
    return moment_after(parse_time(text), -(metadata(pod).get("deletionGracePeriodSeconds") or 0))
