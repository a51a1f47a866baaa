"""One reconcile of an Endpoints object: mirror it, or take its mirror away."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.endpointslice_mirroring.plan import MANAGER, MAX_PER_SUBSET, Changes, Mirror, desired, plan
from controllers.refusals import is_namespace_terminating
from controllers.services import slices
from controllers.services.slices import SliceTracker
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, annotations_of, labels_of, name_of, namespace_of
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, ENDPOINTS, SERVICES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.rate_limiter import ExponentialBackoff
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
LEADER_ELECTION = "control-plane.alpha.kubernetes.io/leader"


def add_to(manager: Manager) -> None:
    endpoints, services = manager.informer(ENDPOINTS), manager.informer(SERVICES)
    slice_informer = slices.index(manager.informer(ENDPOINT_SLICES))
    recorder = manager.event_recorder("endpoint-slice-mirroring-controller")
    reconciler = MirroringReconciler(manager.api, endpoints, services, slice_informer, recorder)
    slice_informer.add_handler(reconciler.on_slice)
    sources = [For(endpoints), For(services), Watches(slice_informer, reconciler.keys_for_slice)]
    manager.add(
        Controller(
            "endpoint_slice_mirroring", reconciler, sources, workers=5, rate_limiter=ExponentialBackoff(1.0, 100.0)
        )
    )


class MirroringReconciler:
    def __init__(
        self, api: Api, endpoints: Informer, services: Informer, slice_informer: Informer, recorder: EventRecorder
    ) -> None:
        self._api, self._recorder = api, recorder
        self._endpoints, self._services, self._slices = endpoints, services, slice_informer
        self._tracker = SliceTracker()

    async def reconcile(self, key: ObjectKey) -> Result:
        endpoints = self._endpoints.get(key)
        existing = slices.of_service(self._slices, key, MANAGER)
        if endpoints is None or not self._is_mirrored(key, endpoints):
            self._tracker.forget(key)
            await self._carry_out(key, Changes(delete=existing))
            return DONE
        self._tracker.check_fresh(key, existing)
        mirror = desired(endpoints)
        await self._tell_left_out(endpoints, mirror)
        await self._carry_out(key, plan(endpoints, existing, mirror.groups))
        return DONE

    def keys_for_slice(self, endpoint_slice: Object) -> Sequence[ObjectKey]:
        if labels_of(endpoint_slice).get(slices.MANAGED_BY) != MANAGER:
            return []
        return [slices.service_key(endpoint_slice)]

    def on_slice(self, delta: Delta) -> None:
        self._tracker.saw(delta)

    def _is_mirrored(self, key: ObjectKey, endpoints: Object) -> bool:
        """Whether it was written by hand for a Service without selector, and is no lock and not exempt."""
        service = self._services.get(key)
        return (
            labels_of(endpoints).get(SKIP_MIRROR) != "true"
            and LEADER_ELECTION not in annotations_of(endpoints)
            and service is not None
            and not service["spec"].get("selector")
        )

    async def _tell_left_out(self, endpoints: Object, mirror: Mirror) -> None:
        if mirror.invalid:
            message = f"Skipped {mirror.invalid} invalid IP addresses when mirroring to EndpointSlices"
            await self._recorder.event(endpoints, "Warning", "InvalidIPAddress", message)
        if mirror.skipped > mirror.invalid:
            message = (
                f"A max of {MAX_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset."
                f" {mirror.skipped} addresses were skipped"
            )
            await self._recorder.event(endpoints, "Warning", "TooManyAddressesToMirror", message)

    async def _carry_out(self, key: ObjectKey, changes: Changes) -> None:
        for created in changes.create:
            try:
                self._tracker.wrote(key, await self._api.create(ENDPOINT_SLICES, created))
            except ApiError as error:
                if is_namespace_terminating(error):
                    return
                raise
        for changed in changes.update:
            self._tracker.wrote(key, await self._api.update(ENDPOINT_SLICES, changed))
        for deleted in changes.delete:
            try:
                await self._api.delete(ENDPOINT_SLICES, name_of(deleted), namespace_of(deleted))
            except NotFound:
                continue
            self._tracker.deleted(key, deleted)
