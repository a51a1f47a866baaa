"""One reconcile of a Service: from its pods to its EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from controllers import pods
from controllers.endpointslice import topology
from controllers.endpointslice.desired import address_types, desired
from controllers.endpointslice.plan import MANAGER, Changes, plan
from controllers.refusals import is_namespace_terminating
from controllers.services import membership, slices, trigger_times
from controllers.services.slices import SliceTracker
from controllers.services.trigger_times import TriggerTimes
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    annotations_of,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    resource_version_of,
)
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, NODES, PODS, SERVICES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.predicates import EventPredicate
from kubeloop.runtime.rate_limiter import ExponentialBackoff
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches


def add_to(manager: Manager) -> None:
    services = membership.index_services(manager.informer(SERVICES))
    pod_informer, nodes = manager.informer(PODS), manager.informer(NODES)
    slice_informer = slices.index(manager.informer(ENDPOINT_SLICES))
    recorder = manager.event_recorder("endpoint-slice-controller")
    reconciler = EndpointSliceReconciler(manager.api, services, pod_informer, nodes, slice_informer, recorder)
    slice_informer.add_handler(reconciler.on_slice)
    sources = [
        For(services),
        Watches(pod_informer, reconciler.keys_for_pod, [membership.concerns_services(services)]),
        Watches(slice_informer, reconciler.keys_for_slice, [EventPredicate(reconciler.is_of_others)]),
        Watches(nodes, reconciler.keys_for_node, [_moves_shares]),
    ]
    manager.add(Controller("endpoint_slice", reconciler, sources, workers=5, rate_limiter=ExponentialBackoff(1.0)))


class UnknownNodes(ApiError):
    """Some pods are on nodes that do not exist; they are published once the nodes show up."""


class EndpointSliceReconciler:
    def __init__(
        self,
        api: Api,
        services: Informer,
        pod_informer: Informer,
        nodes: Informer,
        slice_informer: Informer,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._recorder = api, recorder
        self._services, self._pods, self._nodes, self._slices = services, pod_informer, nodes, slice_informer
        self._tracker, self._times = SliceTracker(), TriggerTimes()
        # Services that ask for hints by zone, and whether they have them: only so much as their events need.
        self._has_zone_hints: dict[ObjectKey, bool] = {}
        self._stale: set[ObjectKey] = set()  # Services whose slices the cache shows as they were before the last write

    async def reconcile(self, key: ObjectKey) -> Result:
        service = self._services.get(key)
        if service is None:
            self._tracker.forget(key)
            self._times.forget(key)
            self._has_zone_hints.pop(key, None)
            self._stale.discard(key)
            return DONE  # the garbage collector owns its slices
        if not membership.has_endpoints(service):
            return DONE
        existing = slices.of_service(self._slices, key, MANAGER)
        self._stale.add(key)
        self._tracker.check_fresh(key, existing)
        self._stale.discard(key)
        its_pods = membership.pods_of(service, self._pods)
        time = self._times.next(service, its_pods)
        try:
            await self._publish(service, its_pods, existing, time)
        except ApiError as error:
            if not isinstance(error, Conflict):
                where = f"{namespace_of(service)}/{name_of(service)}"
                message = f"Error updating Endpoint Slices for Service {where}: {error}"
                await self._recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", message)
            raise
        return DONE

    def keys_for_pod(self, pod: Object) -> Iterable[ObjectKey]:
        return membership.keys_of_services(pod, self._services)

    def keys_for_slice(self, endpoint_slice: Object) -> Iterable[ObjectKey]:
        """Others may edit or delete our slices; those of other managers are not ours to mind."""
        if labels_of(endpoint_slice).get(slices.MANAGED_BY) != MANAGER:
            return []
        return [slices.service_key(endpoint_slice)]

    def is_of_others(self, old: Object | None, new: Object | None) -> bool:
        """Whether a change of a slice may be another's doing, or has been waited for."""
        if new is None or (old is not None and labels_of(old) != labels_of(new)):
            return True
        key = slices.service_key(new)
        return key in self._stale or not self._tracker.has_written(key, new)

    def keys_for_node(self, node: Object) -> Iterable[ObjectKey]:
        """A node's zone and readiness count for the Services whose hints follow the zones' sizes."""
        return list(self._has_zone_hints)

    def on_slice(self, delta: Delta) -> None:
        self._tracker.saw(delta)

    async def _publish(
        self, service: Object, its_pods: Sequence[Object], existing: Sequence[Object], time: str
    ) -> None:
        types = address_types(service)
        node_names = {pods.node_of(pod) for pod in its_pods}
        nodes = {name: node for name in node_names if (node := self._nodes.get(ObjectKey("", name)))}
        shares = topology.shares_of(self._nodes.list()) if topology.is_asked_for(service) else {}
        unknown: list[tuple[str, str]] = []
        for address_type in types:
            wanted = desired(service, its_pods, nodes, address_type)
            unknown += wanted.unknown_nodes
            of_type = [found for found in existing if found["addressType"] == address_type]
            changes = plan(service, of_type, wanted.groups, address_type, shares=shares)
            await self._carry_out(service, changes, time)
            await self._tell_hints(service, address_type, changes.no_hints)
        unsupported = [found for found in existing if found["addressType"] not in types]
        await self._carry_out(service, Changes(delete=unsupported), time)
        self._times.told(key_of(service))
        if unknown:
            where = f"{namespace_of(service)}/{name_of(service)}"
            texts = [f"skipping Pod {pod} for Service {where}: Node {node} Not Found" for pod, node in unknown]
            raise UnknownNodes(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

    async def _carry_out(self, service: Object, changes: Changes, time: str) -> None:
        key = key_of(service)
        for created in changes.create:
            try:
                with _named(f"failed to create EndpointSlice for Service {key}"):
                    written = await self._api.create(ENDPOINT_SLICES, _timed(created, time))
            except ApiError as error:
                if is_namespace_terminating(error):
                    return
                raise
            self._tracker.wrote(key, written)
        for name, changed in changes.update.items():
            with _named(f"failed to update {name} EndpointSlice for Service {key}"):
                written = await self._api.update(ENDPOINT_SLICES, _timed(changed, time))
            if resource_version_of(written) != resource_version_of(changed):
                self._tracker.wrote(key, written)
        for deleted in changes.delete:
            with _named(f"failed to delete {name_of(deleted)} EndpointSlice for Service {key}"):
                await self._delete(key, deleted)

    async def _delete(self, key: ObjectKey, deleted: Object) -> None:
        try:
            await self._api.delete(ENDPOINT_SLICES, name_of(deleted), namespace_of(deleted))
        except NotFound:
            return
        self._tracker.deleted(key, deleted)

    async def _tell_hints(self, service: Object, address_type: str, no_hints: str) -> None:
        """Say when hints by zone begin and end, and each time they cannot be given."""
        key = key_of(service)
        if not topology.is_asked_for(service):
            no_hints = topology.DISABLED if self._has_zone_hints.pop(key, False) else ""
        elif no_hints:
            self._has_zone_hints[key] = False
        elif not self._has_zone_hints.get(key):
            self._has_zone_hints[key] = True
            message = f"{topology.ENABLED}, addressType: {address_type}"
            await self._recorder.event(service, "Normal", "TopologyAwareHintsEnabled", message)
        if no_hints:
            message = f"{no_hints}, addressType: {address_type}"
            await self._recorder.event(service, "Warning", "TopologyAwareHintsDisabled", message)


def _moves_shares(old: Object, new: Object) -> bool:
    return topology.what_matters(old) != topology.what_matters(new)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """An error says what it came from."""
    try:
        yield
    except ApiError as error:
        raise type(error)(f"{what}: {error}", code=error.code, reason=error.reason, details=error.details) from error


def _timed(endpoint_slice: Object, time: str) -> Object:
    annotations = trigger_times.annotate(annotations_of(endpoint_slice), time)
    return {**endpoint_slice, "metadata": {**endpoint_slice["metadata"], "annotations": annotations}}
