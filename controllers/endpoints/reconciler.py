"""One reconcile of a Service: from its pods to its Endpoints object."""

from __future__ import annotations

from collections.abc import Iterable

from controllers.endpoints import plan
from controllers.refusals import is_namespace_terminating
from controllers.services import membership
from controllers.services.trigger_times import TriggerTimes
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, annotations_of, labels_of, name_of, namespace_of
from kubeloop.apimachinery.resource import ENDPOINTS, PODS, SERVICES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

LEADER_ELECTION = "control-plane.alpha.kubernetes.io/leader"


def add_to(manager: Manager) -> None:
    services = membership.index_services(manager.informer(SERVICES))
    pod_informer, endpoints = manager.informer(PODS), manager.informer(ENDPOINTS)
    recorder = manager.event_recorder("endpoint-controller")
    reconciler = EndpointsReconciler(manager.api, services, pod_informer, endpoints, recorder)
    sources = [
        For(services),
        Watches(pod_informer, reconciler.keys_for_pod, [membership.concerns_services(services)]),
        For(endpoints),  # also those that a Service of before left behind, by the label of this loop
    ]
    manager.add(Controller("endpoint", reconciler, sources, workers=5))


class EndpointsReconciler:
    def __init__(
        self,
        api: Api,
        services: Informer,
        pod_informer: Informer,
        endpoints: Informer,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._recorder = api, recorder
        self._services, self._pods, self._endpoints = services, pod_informer, endpoints
        self._times = TriggerTimes()
        self._with_service: set[ObjectKey] = set()  # as many as there are Services

    async def reconcile(self, key: ObjectKey) -> Result:
        service, present = self._services.get(key), self._endpoints.get(key)
        if service is None:
            self._times.forget(key)
            await self._remove(present, had_service=key in self._with_service)
            self._with_service.discard(key)
            return DONE
        self._with_service.add(key)
        if not membership.has_endpoints(service):
            return DONE
        its_pods = membership.pods_of(service, self._pods)
        time = self._times.next(service, its_pods)
        wanted = plan.planned(service, present, plan.desired_subsets(service, its_pods), time)
        if wanted is not None:
            await self._write(service, wanted, is_new=present is None)
        self._times.told(key)
        return DONE

    def keys_for_pod(self, pod: Object) -> Iterable[ObjectKey]:
        return membership.keys_of_services(pod, self._services)

    async def _remove(self, present: Object | None, had_service: bool) -> None:
        """The Service is gone, and with it its Endpoints; what somebody wrote without a Service stays."""
        if present is None or LEADER_ELECTION in annotations_of(present):
            return
        if not had_service and labels_of(present).get(plan.MANAGED_BY) != plan.MANAGER:
            return
        try:
            await self._api.delete(ENDPOINTS, name_of(present), namespace_of(present))
        except NotFound:
            return

    async def _write(self, service: Object, wanted: Object, is_new: bool) -> None:
        where = f"{namespace_of(service)}/{name_of(service)}"
        try:
            if is_new:
                await self._api.create(ENDPOINTS, wanted)
            else:
                await self._api.update(ENDPOINTS, wanted)
        except (Conflict, AlreadyExists):
            raise  # the cache is behind
        except ApiError as error:
            if is_new and is_namespace_terminating(error):
                return
            verb, about = ("Create", "endpoint for service") if is_new else ("Update", "endpoint")
            message = f"Failed to {verb.lower()} {about} {where}: {error}"
            await self._recorder.event(wanted, "Warning", f"FailedTo{verb}Endpoint", message)
            raise
