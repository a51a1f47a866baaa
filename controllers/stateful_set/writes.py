"""Carrying out the steps of a plan, with the events people look for.

A pod is deleted by its uid: a cache that is behind must not cost its successor's life. What has a fixed name is made
only once, so a creation that the cache does not show yet fails and is tried again when it does.
StatefulPodControl of pkg/controller/statefulset, v1.36.
"""

from __future__ import annotations

from controllers.stateful_set.claims import ClaimWork
from controllers.stateful_set.plan import CREATE, DELETE, MEND_CLAIMS, UPDATE, Step
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import Expectations
from kubeloop.runtime.own_writes import OwnWrites


class PodWrites:
    def __init__(self, api: Api, recorder: EventRecorder, claims: Informer, expectations: Expectations) -> None:
        self._api, self._recorder, self._expectations = api, recorder, expectations
        self._claims = claims
        self._own_claims = OwnWrites()

    def claim(self, key: ObjectKey) -> Object | None:
        """The claim as the cache shows it, or as it was left here since."""
        cached = self._claims.get(key)
        if cached is None:
            self._own_claims.forget(key)
            return None
        return self._own_claims.latest(cached)

    async def live_claim(self, key: ObjectKey) -> Object | None:
        """The claim as the server has it: for when the cache may just not have it yet."""
        try:
            return await self._api.get(PERSISTENT_VOLUME_CLAIMS, key.name, key.namespace)
        except NotFound:
            return None

    async def carry_out(self, owner: ReadOnlyObject, step: Step) -> None:
        if step.verb == MEND_CLAIMS:
            await self._see_to_claims(owner, step)
            return
        try:
            await self._carry_out(owner, step)
        except (AlreadyExists, Conflict):
            raise  # the cache is behind; the next try knows more
        except ApiError as error:
            await self._tell(owner, step, error)
            raise
        await self._tell(owner, step, None)

    async def _carry_out(self, owner: ReadOnlyObject, step: Step) -> None:
        if step.verb == CREATE:
            await self._see_to_claims(owner, step)
            await self._create(owner, step.pod)
        elif step.verb == UPDATE:
            await self._see_to_claims(owner, step)
            await self._api.update(PODS, step.pod)
        elif step.verb == DELETE:
            await self._delete(owner, step.pod)

    async def _create(self, owner: ReadOnlyObject, pod: Object) -> None:
        self._expectations.expect_creations(key_of(owner), 1)
        try:
            await self._api.create(PODS, pod)
        except ApiError:
            self._expectations.creation_observed(key_of(owner))  # never made: not to be waited for
            raise

    async def _delete(self, owner: ReadOnlyObject, pod: Object) -> None:
        self._expectations.expect_deletions(key_of(owner), [uid_of(pod)])
        try:
            await self._api.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod))
        except ApiError as error:
            self._expectations.deletion_observed(key_of(owner), uid_of(pod))
            if not isinstance(error, NotFound):
                raise

    async def _see_to_claims(self, owner: ReadOnlyObject, step: Step) -> None:
        """Create, then mend. A claim that is being deleted blocks the pod until it is gone and made anew."""
        work: ClaimWork = step.claims
        for claim in work.missing:
            await self._create_claim(owner, step.pod, claim)
        if work.leaving:
            raise ApiError(", ".join(f"pvc {name} is being deleted" for name in work.leaving))
        for name in work.conflicting:
            message = (
                f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller,"
                " the retention policy is ignored for this claim"
            )
            await self._recorder.event(owner, "Warning", "ConflictingController", message)
        for claim in work.mended:
            written = await self._api.update(PERSISTENT_VOLUME_CLAIMS, claim)
            self._own_claims.wrote(claim, written)

    async def _create_claim(self, owner: ReadOnlyObject, pod: Object, claim: Object) -> None:
        names = f"{name_of(pod)} in StatefulSet {name_of(owner)}"
        try:
            await self._api.create(PERSISTENT_VOLUME_CLAIMS, claim)
        except AlreadyExists:
            return  # the cache is behind
        except ApiError as error:
            message = f"Create Claim {name_of(claim)} for Pod {names} failed error: {error}"
            await self._recorder.event(owner, "Warning", "FailedCreate", message)
            raise ApiError(
                f"failed to create PVC {name_of(claim)}: {error}",
                code=error.code,
                reason=error.reason,
                details=error.details,
            ) from error
        message = f"Create Claim {name_of(claim)} Pod {names} success"
        await self._recorder.event(owner, "Normal", "SuccessfulCreate", message)

    async def _tell(self, owner: ReadOnlyObject, step: Step, error: ApiError | None) -> None:
        verb = step.verb.capitalize()
        subject = f"{verb} Pod {name_of(step.pod)} in {STATEFUL_SETS.kind} {name_of(owner)}"
        if error is None:
            await self._recorder.event(owner, "Normal", f"Successful{verb}", f"{subject} successful")
        else:
            await self._recorder.event(owner, "Warning", f"Failed{verb}", f"{subject} failed error: {error}")
