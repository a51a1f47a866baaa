"""What the control loops ask of a Pod: ready since when, available, active, terminating, how dear.

Plain functions of the object (k8s.io/kubernetes/pkg/api/v1/pod and pkg/controller, v1.36), shared by every loop that
owns or counts pods. They read no clock: the moment to judge by is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, is_being_deleted, metadata
from kubeloop.apimachinery.times import parse_time

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_COUNTED_METADATA = ("uid", "deletionTimestamp", "labels", "ownerReferences")
_INT32 = range(-(2**31), 2**31)


def phase_of(pod: ReadOnlyObject) -> str:
    return (pod.get("status") or {}).get("phase") or ""


def node_of(pod: ReadOnlyObject) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def ready_condition(pod: ReadOnlyObject) -> ReadOnlyObject | None:
    return get_condition(conditions_of(pod), "Ready")


def is_ready(pod: ReadOnlyObject) -> bool:
    condition = ready_condition(pod)
    return condition is not None and condition.get("status") == "True"


def ready_since(pod: ReadOnlyObject) -> datetime | None:
    """When the pod became ready; None where it is not, or where nobody noted the time."""
    condition = ready_condition(pod)
    if condition is None or condition.get("status") != "True" or not condition.get("lastTransitionTime"):
        return None
    return parse_time(condition["lastTransitionTime"])


def is_available(pod: ReadOnlyObject, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for at least `min_ready_seconds`."""
    if not is_ready(pod):
        return False
    if min_ready_seconds == 0:
        return True
    since = ready_since(pod)
    return since is not None and (now - since).total_seconds() >= min_ready_seconds


def seconds_to_availability(pod: ReadOnlyObject, min_ready_seconds: int, now: datetime) -> float | None:
    """How long until a ready pod counts as available; None where no time has to pass."""
    since = ready_since(pod)
    if since is None or min_ready_seconds <= 0:
        return None
    left = min_ready_seconds - (now - since).total_seconds()
    return left if left > 0 else None


def seconds_to_next_availability(pods: Iterable[ReadOnlyObject], min_ready_seconds: int, now: datetime) -> float | None:
    """When to look again because one of them will count as available; None where no time has to pass."""
    waits = (seconds_to_availability(pod, min_ready_seconds, now) for pod in pods)
    return min((wait for wait in waits if wait is not None), default=None)


def is_terminal(pod: ReadOnlyObject) -> bool:
    """Whether its containers are done for good."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: ReadOnlyObject) -> bool:
    """Whether it counts as a replica: neither done nor being deleted."""
    return not is_terminal(pod) and not is_being_deleted(pod)


def counts_otherwise(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether a change of a pod is one that an owner of replicas counts: whose it is, whether it lives, and is ready.

    Most updates are not (bound, pulling, an address), and an owner of a thousand pods walks them all.
    """
    before, after = metadata(old), metadata(new)
    return (
        phase_of(old) != phase_of(new)
        or ready_condition(old) != ready_condition(new)
        or any(before.get(field) != after.get(field) for field in _COUNTED_METADATA)
    )


def is_terminating(pod: ReadOnlyObject) -> bool:
    """Whether it is being deleted and still runs."""
    return not is_terminal(pod) and is_being_deleted(pod)


def deletion_cost(pod: ReadOnlyObject) -> int:
    """The pod-deletion-cost annotation; 0 where there is none or it is no plain 32-bit number ("+5", "007")."""
    text: Any = annotations_of(pod).get(DELETION_COST)
    if not isinstance(text, str) or not text:
        return 0
    first_is_right = text == "0" or text[0] == "-" or "1" <= text[0] <= "9"
    digits = text.removeprefix("-")
    if not first_is_right or not (digits.isascii() and digits.isdigit()) or int(text) not in _INT32:
        return 0
    return int(text)


def most_restarts(pod: ReadOnlyObject) -> tuple[int, int]:
    """The most restarts of any container, and of any sidecar: what two pods are compared by."""
    status = pod.get("status") or {}
    sidecars = {
        container.get("name")
        for container in (pod.get("spec") or {}).get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    regular = [entry.get("restartCount") or 0 for entry in status.get("containerStatuses") or ()]
    sidecar = [
        entry.get("restartCount") or 0
        for entry in status.get("initContainerStatuses") or ()
        if entry.get("name") in sidecars
    ]
    return max(regular, default=0), max(sidecar, default=0)
