"""Deleting everything of one resource in a namespace, and seeing what stays.

pkg/controller/namespace/deletion, v1.36.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from controllers import pods
from controllers.discovery import Served
from kubeloop.apimachinery.errors import ApiError, MethodNotAllowed, NotFound
from kubeloop.apimachinery.meta import Object, finalizers_of, name_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import seconds_since
from kubeloop.client.api import Api

# How long to give whoever is to remove finalizers.
_FINALIZER_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a resource, and in how many seconds it is worth looking again."""

    count: int = 0
    wait_seconds: int = 0
    finalizers: Counter[str] = field(default_factory=Counter)
    failure: str = ""


class Content:
    def __init__(self, api: Api) -> None:
        self._api = api

    async def delete_all(self, served: Served, namespace: str, deleted_at: str, now: datetime) -> Remains:
        """Delete all objects of a resource; refusals end up in the result, so that other resources go on.

        Most resources have no objects: those cost one list. Nothing new can appear in a terminating namespace.
        """
        try:
            found = await self._list(served, namespace)
            if not found and served.supports("list"):
                return Remains()
            await self._delete(served, namespace, found)
            left = await self._list(served, namespace)
        except ApiError as error:
            return Remains(failure=str(error))
        grace = _grace_seconds(served, found)
        return _remains(served, namespace, left, 0 if seconds_since(deleted_at, now) >= grace else grace)

    async def _delete(self, served: Served, namespace: str, found: list[Object]) -> None:
        """As a collection, or one by one where the resource does not know that."""
        if served.supports("deletecollection"):
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
            try:
                await self._api.request("DELETE", served.resource.path(namespace), body=options)
                return
            except (MethodNotAllowed, NotFound):
                pass
        for obj in found:
            try:
                await self._api.delete(served.resource, name_of(obj), namespace, propagation_policy="Background")
            except (MethodNotAllowed, NotFound):
                continue

    async def _list(self, served: Served, namespace: str) -> list[Object]:
        if not served.supports("list"):
            return []
        try:
            return list((await self._api.list(served.resource, namespace))["items"])
        except (MethodNotAllowed, NotFound):
            return []  # not served any more


def _grace_seconds(served: Served, found: list[Object]) -> int:
    """The longest grace period of a pod that still runs."""
    if served.resource != PODS:
        return 0
    running = [pod for pod in found if not pods.is_terminal(pod)]
    return max((pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)


def _remains(served: Served, namespace: str, left: list[Object], wait: int) -> Remains:
    """Objects may stay for their grace period or their finalizers; anything else is a failure worth another try."""
    finalizers = Counter(finalizer for obj in left for finalizer in finalizers_of(obj))
    if not left:
        return Remains()
    if wait or finalizers:
        return Remains(len(left), wait or _FINALIZER_SECONDS, finalizers)
    resource = served.resource
    where = f"{resource.group}/{resource.version}, Resource={resource.plural}"
    failure = f"unexpected items still remain in namespace: {namespace} for gvr: {where}"
    return Remains(len(left), failure=failure)
