"""Patches of a pod's status by those who are not its kubelet: one condition, and fields beside it.

The pod's uid goes along: a pod that was deleted and made again under the same name is not to be patched.
"""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition, set_condition
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import STRATEGIC, Api

DISRUPTION_TARGET = "DisruptionTarget"


def disruption_target(pod: ReadOnlyObject, reason: str, message: str) -> Object:
    """The condition that says why a pod is about to be deleted."""
    condition: Object = {"type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message}
    if generation_of(pod):
        condition["observedGeneration"] = generation_of(pod)
    return condition


def condition_change(pod: ReadOnlyObject, condition: Condition, now: str) -> Object:
    """The part of a strategic merge patch that sets it, at its place or at the end; empty where it stands already."""
    current = conditions_of(pod)
    after = set_condition(current, condition, now)
    changed = get_condition(after, condition["type"])
    if changed == get_condition(current, condition["type"]):
        return {}
    order = [{"type": other["type"]} for other in after]
    return {"conditions": [changed], "$setElementOrder/conditions": order}


async def patch_status(api: Api, pod: ReadOnlyObject, changes: dict[str, Any]) -> bool:
    """Whether this very pod is still there; no changes, no request."""
    if not changes:
        return True
    patch = {"metadata": {"uid": uid_of(pod)}, "status": changes}
    try:
        await api.patch(PODS, name_of(pod), patch, namespace_of(pod), patch_type=STRATEGIC, subresource="status")
    except NotFound:
        return False
    return True


async def delete(api: Api, pod: ReadOnlyObject, grace_period_seconds: int | None = None) -> None:
    """Delete this very pod, if it is still there."""
    try:
        await api.delete(
            PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_period_seconds=grace_period_seconds
        )
    except (NotFound, Conflict):
        return
