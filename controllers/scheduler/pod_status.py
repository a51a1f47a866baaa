"""What the scheduler writes into a pod's status: a condition, and the node it has been promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.pod_status import condition_change
from kubeloop.apimachinery.errors import ApiError, Conflict, InternalError, NotFound, ServiceUnavailable
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import STRATEGIC, Api

Condition = Mapping[str, Any]
MAX_TRIES = 4
_RETRIABLE = (Conflict, InternalError, ServiceUnavailable)


def status_patch(pod: ReadOnlyObject, condition: Condition | None, nominated: str | None, now: str) -> Object | None:
    """The strategic merge patch that writes them; None where the status says all of it already.

    `nominated` None leaves the promise as it is, "" takes it back.
    """
    status: Object = {}
    if condition is not None:
        observed = {"observedGeneration": generation_of(pod)} if generation_of(pod) else {}
        status |= condition_change(pod, {**condition, **observed}, now)
    if nominated is not None and nominated != ((pod.get("status") or {}).get("nominatedNodeName") or ""):
        status["nominatedNodeName"] = nominated or None
    return {"metadata": {"uid": uid_of(pod)}, "status": status} if status else None


async def patch_status(api: Api, pod: ReadOnlyObject, patch: Object) -> bool:
    """Whether the pod is still there. Raises what is still refused after a few tries."""
    for attempt in range(1, MAX_TRIES + 1):
        try:
            await api.patch(PODS, name_of(pod), patch, namespace_of(pod), patch_type=STRATEGIC, subresource="status")
            return True
        except NotFound:
            return False
        except _RETRIABLE as error:
            if attempt == MAX_TRIES or _is_another_pod(error):
                raise
    return True


def _is_another_pod(error: ApiError) -> bool:
    """The uid in the patch did not match: no try will change that."""
    return isinstance(error, Conflict) and "uid" in error.message.lower()
