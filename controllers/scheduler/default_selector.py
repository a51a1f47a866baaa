"""The selector of "pods like this one": those of its services and of the controller that owns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.scheduler.affinity_terms import selector_or_nothing
from controllers.scheduler.interface import Handle
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import ObjectKey, controller_of
from kubeloop.apimachinery.resource import REPLICA_SETS, REPLICATION_CONTROLLERS, SERVICES, STATEFUL_SETS
from kubeloop.apimachinery.selectors import EVERYTHING, Selector, from_labels

MAX_SELECTORS = 1000  # that are remembered; full: all are forgotten


class DefaultSelectors:
    """Follows DefaultSelector of pkg/scheduler/framework/plugins/helper/spread.go (v1.36)."""

    def __init__(self, handle: Handle) -> None:
        self._services = handle.lister(SERVICES)
        self._owners = {
            (resource.api_version, resource.kind): handle.lister(resource)
            for resource in (REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
        }
        # By what they are made of: most pods are followed by others of their owner.
        self._made: dict[str, Selector] = {}

    def of(self, pod: PodInfo) -> Selector:
        """Empty where nothing selects or owns it."""
        of_services = self._of_services(pod)
        is_plain_map, of_owner = self._of_owner(pod)
        parts = repr((of_services, is_plain_map, of_owner))
        found = self._made.get(parts)
        if found is None:
            if len(self._made) >= MAX_SELECTORS:
                self._made.clear()
            found = self._made[parts] = _combined(of_services, is_plain_map, of_owner)
        return found

    def _of_services(self, pod: PodInfo) -> Mapping[str, str]:
        """The labels that the Services which select the pod want together."""
        wanted: dict[str, str] = {}
        for service in self._services.list(pod.namespace):
            labels = (service.get("spec") or {}).get("selector")
            if labels and from_labels(labels).matches(pod.labels):
                wanted |= labels
        return wanted

    def _of_owner(self, pod: PodInfo) -> tuple[bool, Mapping[str, Any]]:
        """The owner's selector, and whether it is a plain map; empty where it has none, or the pod no owner."""
        reference = controller_of(pod.pod)
        if reference is None:
            return True, {}
        owners = self._owners.get((reference.get("apiVersion", ""), reference.get("kind", "")))
        owner = owners.get(ObjectKey(pod.namespace, reference.get("name", ""))) if owners is not None else None
        selector = ((owner or {}).get("spec") or {}).get("selector") or {}
        return owner is None or reference.get("kind") == REPLICATION_CONTROLLERS.kind, selector


def _combined(of_services: Mapping[str, str], is_plain_map: bool, of_owner: Mapping[str, Any]) -> Selector:
    selector = from_labels(of_owner) if is_plain_map else selector_or_nothing(of_owner)
    requirements = [*from_labels(of_services).requirements, *selector.requirements]
    return Selector(dict.fromkeys(requirements)) if requirements else EVERYTHING
