"""Which pods belong to a Service, at which addresses and ports. Pure.

k8s.io/endpointslice/util, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controllers import pods
from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    is_being_deleted,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.client.informer import Informer

_SELECTING = "selecting"  # index of the Services that select pods, by namespace
HEADLESS = "service.kubernetes.io/headless"


def has_endpoints(service: ReadOnlyObject) -> bool:
    """Whether loops look for its pods: it selects some, and is more than an alias."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def is_headless(service: ReadOnlyObject) -> bool:
    return service["spec"].get("clusterIP") in (None, "", "None")


def selects(service: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    selector = service["spec"].get("selector")
    return bool(selector) and selector.items() <= labels_of(pod).items()


def pods_of(service: ReadOnlyObject, pod_informer: Informer) -> list[Object]:
    return [pod for pod in pod_informer.list(namespace_of(service)) if selects(service, pod)]


def index_services(services: Informer) -> Informer:
    """Makes `keys_of_services` work on this informer; every loop that needs it may call it."""
    services.add_index(_SELECTING, lambda service: [namespace_of(service)] if service["spec"].get("selector") else [])
    return services


def keys_of_services(pod: Object, services: Informer) -> Iterable[ObjectKey]:
    """The Services that a change of this pod concerns."""
    return [key_of(service) for service in services.by_index(_SELECTING, namespace_of(pod)) if selects(service, pod)]


def concerns_services(services: Informer) -> Callable[[Object, Object], bool]:
    """A predicate for sources: whether an update of a pod can change what is published of it, or where.

    Labels change with every binding (the node's zone is noted on the pod), and seldom make it another Service's.
    """

    def passes(old: Object, new: Object) -> bool:
        if not services.by_index(_SELECTING, namespace_of(new)):
            return False
        if _published(old) != _published(new):
            return True
        if labels_of(old) == labels_of(new):
            return False
        return set(keys_of_services(old, services)) != set(keys_of_services(new, services))

    return passes


def _published(pod: Object) -> tuple[Any, ...]:
    status = pod.get("status") or {}
    return is_being_deleted(pod), pods.is_ready(pod), pods.is_terminal(pod), status.get("podIPs")


def may_be_listed(pod: ReadOnlyObject, include_terminating: bool) -> bool:
    """Whether it has something to publish: an address, and containers that are not done for good."""
    status = pod.get("status") or {}
    if pods.is_terminal(pod) or not (status.get("podIP") or status.get("podIPs")):
        return False
    return include_terminating or not is_being_deleted(pod)


def hostname(pod: ReadOnlyObject, service: ReadOnlyObject) -> str:
    """The name that DNS gives the pod under the Service; "" where its subdomain is not the Service."""
    spec = pod["spec"]
    return spec.get("hostname") or "" if spec.get("subdomain") == name_of(service) else ""


def addresses(pod: ReadOnlyObject, family: str) -> list[str]:
    """Its addresses of a family (IPv4 or IPv6), in canonical spelling."""
    version = 6 if family == "IPv6" else 4
    parsed = (parse_ip(entry.get("ip", "")) for entry in (pod.get("status") or {}).get("podIPs") or ())
    return [str(address) for address in parsed if address is not None and address.version == version]


def target(pod: ReadOnlyObject) -> Object:
    """The reference by which an endpoint names its pod."""
    return {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod), "uid": uid_of(pod)}


def target_port(pod: ReadOnlyObject, service_port: Mapping[str, Any]) -> int | None:
    """The number of the port, looked up among the pod's containers where it is a name; None where there is none."""
    wanted = service_port.get("targetPort")
    if wanted is None or wanted == 0:
        return service_port.get("port")
    if isinstance(wanted, int):
        return wanted
    protocol = service_port.get("protocol") or "TCP"
    for container in _serving_containers(pod["spec"]):
        for port in container.get("ports") or ():
            if port.get("name") == wanted and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return None


def _serving_containers(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Containers, then sidecars: init containers that go on running."""
    yield from spec.get("containers") or ()
    yield from (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
