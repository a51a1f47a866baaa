"""The requests that a Job's reconcile makes about its pods. Each says how far it got and what went wrong first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from controllers import pods
from controllers.batches import at_once, slow_start
from controllers.job.model import TRACKING_FINALIZER, is_tracked
from controllers.job.plan import Outcome
from controllers.job.released import Released
from controllers.pod_control import PodControl
from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, key_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.runtime.expectations import Expectations


async def remove_finalizer(api: Api, pod: ReadOnlyObject) -> None:
    """Take the tracking finalizer off, whoever else changes the pod meanwhile."""
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}}
    await api.patch(PODS, name_of(pod), patch, namespace_of(pod), patch_type=STRATEGIC)


class PodRequests:
    def __init__(self, api: Api, control: PodControl, expectations: Expectations, released: Released) -> None:
        self._api, self._control = api, control
        self._expectations, self._released = expectations, released

    async def create(self, job: ReadOnlyObject, wanted: Sequence[Object]) -> Outcome:
        key, remaining = key_of(job), iter(wanted)
        self._expectations.expect_creations(key, len(wanted))
        created, error = await slow_start(len(wanted), lambda: self._control.create(job, next(remaining)))
        for _ in range(len(wanted) - created):
            self._expectations.creation_observed(key)  # never made: not to be waited for
        is_hopeless = error is not None and is_namespace_terminating(error)
        return Outcome(created=created, error=None if is_hopeless else error)

    async def delete(self, job: ReadOnlyObject, victims: Sequence[Object]) -> Outcome:
        """Delete pods that are too many. They are never counted, so the finalizer goes first."""
        self._expectations.expect_deletions(key_of(job), [uid_of(pod) for pod in victims])
        return _outcome(victims, await at_once([partial(self._delete_superfluous, job, pod) for pod in victims]))

    async def end(self, job: ReadOnlyObject, active: Sequence[Object]) -> Outcome:
        """Delete what runs in a Job that ends; the pods keep the finalizer until they are counted."""
        return _outcome(active, await at_once([partial(self._delete, job, pod) for pod in active]))

    async def release(self, counted: Sequence[Object]) -> tuple[set[str], Exception | None]:
        """Take the finalizer off pods that are noted in the status; the uids of those that have none any more."""
        done: set[str] = set()
        for pod in counted:
            self._released.expect(uid_of(pod))
        errors = await at_once([partial(self._release, pod, done) for pod in counted])
        return done, errors[0] if errors else None

    async def _release(self, pod: Object, done: set[str]) -> None:
        try:
            await remove_finalizer(self._api, pod)
        except ApiError as error:
            self._released.forget(uid_of(pod))
            if not isinstance(error, NotFound):
                raise
        done.add(uid_of(pod))

    async def _delete_superfluous(self, job: ReadOnlyObject, pod: Object) -> None:
        try:
            if is_tracked(pod):
                await remove_finalizer(self._api, pod)
            await self._control.delete(job, name_of(pod))
        except ApiError as error:
            self._expectations.deletion_observed(key_of(job), uid_of(pod))
            if not isinstance(error, NotFound):
                raise

    async def _delete(self, job: ReadOnlyObject, pod: Object) -> None:
        try:
            await self._control.delete(job, name_of(pod))
        except NotFound:
            return  # somebody else was faster


def _outcome(victims: Sequence[Object], errors: Sequence[Exception]) -> Outcome:
    return Outcome(
        deleted=len(victims) - len(errors),
        deleted_ready=sum(pods.is_ready(pod) for pod in victims),
        error=errors[0] if errors else None,
    )
