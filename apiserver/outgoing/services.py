"""From a Service to an address that can be dialled.

Upstream asks kube-aggregator's ClusterIP resolver (k8s.io/apiserver/pkg/util/proxy, v1.36) and leaves the cluster IP to
the network. There is no such network here, and the pods behind a Service are simulated. So a Service leads to

- what its annotation `kubeloop.io/forward-to: HOST:PORT` names, where it has one; with `http://` before it and a HOST
  on loopback that is plain HTTP,
- its externalName, at the port that is asked for,
- an endpoint that is no pod, as somebody wrote it into an EndpointSlice or Endpoints object by hand,
- this server itself, where it is `kubernetes` in the namespace `default`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from apiserver.outgoing.forwarding import Address, ForwardError, forwarded
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.forwarding import FORWARD_TO
from kubeloop.apimachinery.meta import ReadOnlyObject

SERVICES, ENDPOINT_SLICES = "services", "endpointslices.discovery.k8s.io"

_HINT = f"the pods of this cluster are simulated; annotate the service with {FORWARD_TO}: HOST:PORT"


class ServiceError(Exception):
    """A Service that leads nowhere; the text says why."""


class Resolver(Protocol):
    def resolve(self, namespace: str, name: str, port: int) -> Address:
        """Whom to dial for a Service; ServiceError where there is nobody."""
        ...


class ServiceResolver:
    """Resolves by the server's own objects. `own_address` is where this server listens ("": nowhere)."""

    def __init__(self, reader: Reader, own_address: str = "") -> None:
        self._reader, self._own_address = reader, own_address

    def resolve(self, namespace: str, name: str, port: int) -> Address:
        if (namespace, name, port) == ("default", "kubernetes", 443) and self._own_address:
            return Address(self._own_address)
        service = self._reader.get(SERVICES, namespace, name)
        if service is None:
            raise ServiceError(NotFound.of("service", "", name).message)
        spec = service["spec"]
        try:
            if (address := forwarded(service, "service")) is not None:
                return address
        except ForwardError as error:
            raise ServiceError(str(error)) from error
        if spec.get("type") == "ExternalName":
            return Address(f"{spec.get('externalName', '')}:{port}")
        if spec.get("clusterIP") == "None":
            raise ServiceError('cannot route to service with ClusterIP "None"')
        port_name = name_of_port(spec, port)
        if port_name is None:
            raise ServiceError(f"no service port {port} found for service {go_quote(name)}")
        for endpoint in self._endpoints(namespace, name, port_name):
            return Address(endpoint)
        raise ServiceError(f"dial tcp {cluster_address(spec, port)}: connect: no route to host ({_HINT})")

    def _endpoints(self, namespace: str, name: str, port_name: str) -> Iterator[str]:
        """Ready endpoints that are no pods, at the port the Service's port of this name leads to."""
        for slice_ in self._reader.list(ENDPOINT_SLICES, namespace):
            if (slice_["metadata"].get("labels") or {}).get("kubernetes.io/service-name") != name:
                continue
            for port in slice_.get("ports") or ():
                if (port.get("name") or "") == port_name and port.get("port"):
                    yield from _reachable(slice_, port["port"])


def _reachable(slice_: ReadOnlyObject, port: int) -> Iterator[str]:
    for endpoint in slice_.get("endpoints") or ():
        is_ready = (endpoint.get("conditions") or {}).get("ready") is not False
        is_pod = (endpoint.get("targetRef") or {}).get("kind") == "Pod"
        if is_ready and not is_pod:
            address = endpoint["addresses"][0]
            yield f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def cluster_address(spec: ReadOnlyObject, port: int) -> str:
    """The cluster IP of a Service with the port, as Go writes them."""
    cluster_ip = spec.get("clusterIP", "")
    return f"[{cluster_ip}]:{port}" if ":" in cluster_ip else f"{cluster_ip}:{port}"


def name_of_port(spec: ReadOnlyObject, port: int) -> str | None:
    """ "" for a port without a name, None where the Service has no such port."""
    return next((one.get("name") or "" for one in spec.get("ports") or () if one["port"] == port), None)
