"""What the scheduler said of the pod last, where that is not what is found now. Pure."""

from __future__ import annotations

from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition

_ENDED = ("Succeeded", "Failed")
_AGAIN = (
    "It tries a pod again when something changes that could help it, after a backoff of at most ten seconds, and in any"
    " case after five minutes."
)


def condition_of(pod: PodInfo) -> Condition | None:
    """PodScheduled, by which the scheduler tells of its last attempt."""
    return get_condition(conditions_of(pod.pod), "PodScheduled")


def contradiction(pod: PodInfo, is_stuck: bool, message: str) -> str:
    """Of a pod without a node that no gate holds back: what in its status does not go with what is found now, or "".

    `message` is what is found to be in its way, where it `is_stuck`.
    """
    phase = (pod.pod.get("status") or {}).get("phase")
    if phase in _ENDED:
        return f"But it has ended ({phase}): the scheduler leaves it alone."
    if pod.is_being_deleted:
        return "But it is being deleted: the scheduler leaves it alone."
    condition = condition_of(pod)
    if condition is None:
        return "But the scheduler has said nothing of it yet: it has not come to it, or does not run."
    said = condition.get("message", "")
    if condition.get("reason") == "SchedulerError":
        return (
            f"But the scheduler's last attempt failed: {said}\nIt tries again after a backoff of at most ten seconds."
        )
    if not is_stuck:
        return f"But the scheduler has not tried it again yet: its PodScheduled condition says: {said}\n{_AGAIN}"
    return "" if said == message else f"The last time the scheduler tried it, it said: {said}"
