"""The selector of "pods like this one": those of its services and of the controller that owns it."""

from __future__ import annotations

from controllers.scheduler.affinity_terms import selector_or_nothing
from controllers.scheduler.interface import Handle
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import ObjectKey, controller_of
from kubeloop.apimachinery.resource import REPLICA_SETS, REPLICATION_CONTROLLERS, SERVICES, STATEFUL_SETS
from kubeloop.apimachinery.selectors import EVERYTHING, Selector, from_labels


class DefaultSelectors:
    """Follows DefaultSelector of pkg/scheduler/framework/plugins/helper/spread.go (v1.36)."""

    def __init__(self, handle: Handle) -> None:
        self._services = handle.lister(SERVICES)
        self._owners = {
            (resource.api_version, resource.kind): handle.lister(resource)
            for resource in (REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
        }

    def of(self, pod: PodInfo) -> Selector:
        """Empty where nothing selects or owns it."""
        wanted: dict[str, str] = {}
        for service in self._services.list(pod.namespace):
            labels = (service.get("spec") or {}).get("selector")
            if labels and from_labels(labels).matches(pod.labels):
                wanted |= labels
        of_owner = self._of_owner(pod)
        requirements = [*from_labels(wanted).requirements, *of_owner.requirements]
        return Selector(dict.fromkeys(requirements)) if requirements else EVERYTHING

    def _of_owner(self, pod: PodInfo) -> Selector:
        reference = controller_of(pod.pod)
        if reference is None:
            return EVERYTHING
        owners = self._owners.get((reference.get("apiVersion", ""), reference.get("kind", "")))
        owner = owners.get(ObjectKey(pod.namespace, reference.get("name", ""))) if owners is not None else None
        if owner is None:
            return EVERYTHING
        selector = (owner.get("spec") or {}).get("selector") or {}
        is_plain_map = reference.get("kind") == REPLICATION_CONTROLLERS.kind
        return from_labels(selector) if is_plain_map else selector_or_nothing(selector)
