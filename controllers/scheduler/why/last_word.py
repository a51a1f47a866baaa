"""What the scheduler said of the pod last, where that is not what is found now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

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


def contradiction(pod: PodInfo, is_stuck: bool, message: str, has_unasked: bool = False) -> str:
    """Of a pod without a node that no gate holds back: what in its status does not go with what is found now, or "".

    `message` is what is found to be in its way, where it `is_stuck`; `has_unasked`: others have a say, too.
    """
    phase = (pod.pod.get("status") or {}).get("phase")
    if phase in _ENDED:
        return f"But it has ended ({phase}): the scheduler leaves it alone."
    if pod.is_being_deleted:
        return "But it is being deleted: the scheduler leaves it alone."
    condition = condition_of(pod)
    if pod.nominated_node_name and (condition is None or not is_stuck):
        return ""  # it is at work: `promise` tells
    if condition is None:
        return "But the scheduler has said nothing of it yet: it has not come to it, or does not run."
    said = condition.get("message", "")
    if condition.get("reason") == "SchedulerError":
        return (
            f"But the scheduler's last attempt failed: {said}\nIt tries again after a backoff of at most ten seconds."
        )
    if not is_stuck and not has_unasked:
        return f"But the scheduler has not tried it again yet: its PodScheduled condition says: {said}\n{_AGAIN}"
    return "" if said == message else f"The last time the scheduler tried it, it said: {said}"


def promise(pod: PodInfo, is_stuck: bool, going: Sequence[PodInfo]) -> str:
    """Of the node that the scheduler has promised the pod, on which those `going` still are; "" where there is none."""
    node_name = pod.nominated_node_name
    if not node_name:
        return ""
    if not is_stuck:
        awaited = "the scheduler waits for its volumes or for a plugin, or tries it again in a moment"
        return f"It is about to be bound to {node_name} (nominatedNodeName): {awaited}."
    names = ", ".join(str(other.key) for other in going)
    condition = f", once {names} {'is' if len(going) == 1 else 'are'} gone" if going else ""
    return f"{node_name} is promised to it (nominatedNodeName){condition}."
