"""Writing what was decided: a claim's allocation and who uses it, and waiting until its devices are ready.

Facts: bindClaim and isPodReadyForBinding in plugins/dynamicresources (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from controllers.device_claims import allocation_of, consumers_of, results_of
from controllers.scheduler.dynamic_resources.pod_claims import FINALIZER, without_devices
from controllers.scheduler.dynamic_resources.readiness import BindingFailed, is_ready
from controllers.scheduler.interface import Handle, Lister
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, finalizers_of, is_being_deleted, key_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import RESOURCE_CLAIMS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import STRATEGIC

log = structlog.get_logger(__name__)

_TRIES = 5
_RETRY_SECONDS = 0.01
_POLL_SECONDS = 5.0


class ClaimBinder:
    """`claims` lists what the server says of claims."""

    def __init__(self, handle: Handle, claims: Lister, timeout_seconds: float) -> None:
        self._handle, self._api, self._claims = handle, handle.api, claims
        self._allocations = handle.allocations
        self._timeout_seconds = timeout_seconds

    async def bind(self, pod: PodInfo, claim: Object, allocation: Object | None) -> Object:
        """The claim as it is then. Raises BindingFailed, ApiError."""
        try:
            written = await self._bind(pod, claim, allocation)
            self._allocations.note_written(written)
            return written
        finally:
            if allocation is not None:
                self._allocations.end(claim)

    async def _bind(self, pod: PodInfo, claim: Object, allocation: Object | None) -> Object:
        """Somebody else may write the claim meanwhile: then it is read again."""
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._write(pod, claim, allocation)
            except Conflict:
                if attempt == _TRIES:
                    raise
                await self._handle.pause(_RETRY_SECONDS)
                claim = await self._read(claim)
        raise AssertionError("the last try has returned or raised")

    async def _read(self, claim: Object) -> Object:
        try:
            return await self._api.get(RESOURCE_CLAIMS, name_of(claim), namespace_of(claim))
        except ApiError as error:
            raise BindingFailed(f"get updated claim {key_of(claim)} after conflict: {error.message}") from error

    async def _write(self, pod: PodInfo, claim: Object, allocation: Object | None) -> Object:
        if is_being_deleted(claim):
            raise BindingFailed(f"claim {key_of(claim)} got deleted in the meantime")
        if allocation is not None:
            if allocation_of(claim) is not None:
                raise BindingFailed(f"claim {key_of(claim)} got allocated elsewhere in the meantime")
            claim = await self._with_finalizer(claim)
        elif allocation_of(claim) is None:
            raise BindingFailed(f"claim {key_of(claim)} got deallocated elsewhere in the meantime")
        now = format_time(self._handle.now())
        allocated = {"allocationTimestamp": now, **(allocation or allocation_of(claim) or {})}
        user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        status = {**(claim.get("status") or {}), "allocation": allocated, "reservedFor": [*consumers_of(claim), user]}
        what = "add reservation" if allocation is None else "add allocation and reservation"
        return await self._put_status({**claim, "status": status}, f"{what} to claim {key_of(claim)}")

    async def _with_finalizer(self, claim: Object) -> Object:
        """So that the claim does not go before its devices are given back."""
        if FINALIZER in finalizers_of(claim):
            return claim
        metadata = {**claim["metadata"], "finalizers": [*finalizers_of(claim), FINALIZER]}
        try:
            return await self._api.update(RESOURCE_CLAIMS, {**claim, "metadata": metadata})
        except Conflict:
            raise
        except ApiError as error:
            raise BindingFailed(f"add finalizer to claim {key_of(claim)}: {error.message}") from error

    async def _put_status(self, claim: Object, what: str) -> Object:
        """Where no answer comes, it may have been written: nobody else gets the devices before that is known."""
        self._allocations.note_sent(claim)
        try:
            return await self._api.update(RESOURCE_CLAIMS, claim, subresource="status")
        except ApiError as error:
            if 400 <= error.code < 500:
                self._allocations.note_refused(claim)
            if isinstance(error, Conflict):
                raise
            raise BindingFailed(f"{what}: {error.message}") from error

    # Taking back ---------------------------------------------------------------------------------------------------

    async def release(self, pod: PodInfo, claim: Object) -> None:
        """The pod does not use it after all. Where that fails, the claim's own loop does it when the pod ends."""
        gone = {"$patch": "delete", "uid": pod.uid}
        patch = {"metadata": {"uid": uid_of(claim)}, "status": {"reservedFor": [gone]}}
        try:
            written = await self._api.patch(
                RESOURCE_CLAIMS,
                name_of(claim),
                patch,
                namespace_of(claim),
                patch_type=STRATEGIC,
                subresource="status",
            )
            self._allocations.note_written(written)
        except NotFound:
            return
        except ApiError as error:
            log.error("cannot take back a reservation", claim=str(key_of(claim)), error=error.message)

    async def deallocate(self, pod: PodInfo, claim: Object) -> None:
        """Give its devices back; that the claim has changed makes the pod be tried again."""
        try:
            written = await self._api.update(RESOURCE_CLAIMS, without_devices(claim), subresource="status")
            self._allocations.note_written(written)
        except ApiError as error:
            log.error("cannot deallocate a claim", claim=str(key_of(claim)), error=error.message)
            self._handle.activate([pod.uid])

    # Waiting -------------------------------------------------------------------------------------------------------

    async def wait_until_ready(self, pod: PodInfo, claims: Sequence[Object], node_name: str) -> None:
        """Devices may have to be attached first: their driver says so in the claim. Raises BindingFailed."""
        if not any(result.get("bindingConditions") for claim in claims for result in results_of(claim)):
            return
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.tell(pod, "BindingConditionsPending", "Scheduling", note)
        left = self._timeout_seconds
        while not all(self._is_ready(claim) for claim in claims):
            if left <= 0:
                raise BindingFailed("device binding timeout: context deadline exceeded")
            await self._handle.pause(min(_POLL_SECONDS, left))
            left -= _POLL_SECONDS

    def _is_ready(self, claim: Object) -> bool:
        key = key_of(claim)
        newest = self._allocations.newest(key, self._claims.get(key))
        if newest is None:
            raise BindingFailed(f'could not find ResourceClaim "{key}"')
        return is_ready(newest, self._handle.now(), self._timeout_seconds)
