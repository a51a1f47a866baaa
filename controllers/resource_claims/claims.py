"""One reconcile of a claim: reservations of pods that are gone end, and with the last one its allocation.

A claim that was made for a pod goes when the pod has ended, long before the pod's object may.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.device_claims import allocation_of, consumers_of
from controllers.resource_claims import model
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, finalizers_of, is_being_deleted, namespace_of, uid_of
from kubeloop.apimachinery.resource import PODS, RESOURCE_CLAIMS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.finalizers import remove_finalizer
from kubeloop.runtime.result import DONE, Result


class ClaimReconciler:
    """Keys are ResourceClaims."""

    def __init__(self, api: Api, pods: Informer, claims: Informer) -> None:
        self._api, self._pods, self._claims = api, pods, claims

    async def reconcile(self, key: ObjectKey) -> Result:
        claim = self._claims.get(key)
        if claim is None:
            return DONE
        remaining = [one for one in consumers_of(claim) if await self._is_valid(one, key.namespace)]
        try:
            if len(remaining) < len(consumers_of(claim)):
                await self._release(claim, remaining)
            elif is_being_deleted(claim) and not remaining and model.FINALIZER in finalizers_of(claim):
                await self._let_go(await self._without_allocation(claim))
            if not remaining and self._is_of_ended_pod(claim):
                await self._api.delete(RESOURCE_CLAIMS, key.name, key.namespace, uid=uid_of(claim))
        except NotFound:
            return DONE
        return DONE

    async def _is_valid(self, consumer: Mapping[str, Any], namespace: str) -> bool:
        """A reservation of anything but a pod is not ours to judge. That a pod is gone is only believed of the server
        itself: the scheduler may know of it before the cache does.
        """
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            return True
        pod = self._pods.get(ObjectKey(namespace, consumer["name"]))
        if pod is None:
            try:
                pod = await self._api.get(PODS, consumer["name"], namespace)
            except NotFound:
                return False
            return uid_of(pod) == consumer["uid"]
        return uid_of(pod) == consumer["uid"] and not model.is_done(pod)

    async def _release(self, claim: Object, remaining: list[Mapping[str, Any]]) -> None:
        """By a whole update, which fails where anything changed meanwhile."""
        status = {**claim["status"], "reservedFor": remaining}
        if not remaining:
            del status["reservedFor"]
            if model.FINALIZER in finalizers_of(claim):
                status.pop("allocation", None)  # of the scheduler: whoever comes next is not bound to that node
        claim = await self._api.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")
        if allocation_of(claim) is None:
            await self._let_go(claim)

    async def _without_allocation(self, claim: Object) -> Object:
        if allocation_of(claim) is None:
            return claim
        status = {name: value for name, value in claim["status"].items() if name != "allocation"}
        return await self._api.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")

    async def _let_go(self, claim: Object) -> None:
        await remove_finalizer(self._api, RESOURCE_CLAIMS, claim, model.FINALIZER)

    def _is_of_ended_pod(self, claim: Object) -> bool:
        """Of a pod that nobody knows here it is the garbage collector that judges."""
        name, uid = model.owning_pod(claim)
        pod = self._pods.get(ObjectKey(namespace_of(claim), name)) if name else None
        return pod is not None and (uid_of(pod) != uid or model.is_done(pod))
