"""Whether an aggregated API server can be reached: the condition Available of its APIService.

Upstream takes a Service to lead to pods; here it may lead out of the cluster (`outgoing/services.py`), and then has no
endpoints to be missing. Facts: kube-aggregator's remote_available_controller.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from apiserver.aggregation.calls import Calls
from apiserver.aggregation.remote import AVAILABLE, Remote
from apiserver.outgoing.errors import CallError
from apiserver.outgoing.forwarding import forward_of
from apiserver.outgoing.services import ENDPOINT_SLICES, SERVICES, ServiceError, name_of_port
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject


class Verdict(NamedTuple):
    status: str
    reason: str
    message: str

    @property
    def condition(self) -> Object:
        return {"type": AVAILABLE, "status": self.status, "reason": self.reason, "message": self.message}

    @property
    def is_good(self) -> bool:
        return self.status == "True"


PASSED = Verdict("True", "Passed", "all checks passed")


async def check(remote: Remote, reader: Reader, calls: Calls) -> Verdict:
    """Look at the Service, then ask the server itself."""
    return _of_service(remote, reader) or await _of_server(remote, calls)


def _of_service(remote: Remote, reader: Reader) -> Verdict | None:
    """None where nothing is wrong with it."""
    named = f'service/{remote.service} in "{remote.namespace}"'
    service = reader.get(SERVICES, remote.namespace, remote.service)
    if service is None:
        if (remote.namespace, remote.service) == ("default", "kubernetes"):
            return None
        return Verdict("False", "ServiceNotFound", f"{named} is not present")
    spec = service["spec"]
    if spec.get("type", "ClusterIP") != "ClusterIP" or forward_of(service):
        return None
    port_name = name_of_port(spec, remote.port)
    if port_name is None:
        return Verdict("False", "ServicePortError", f"{named} is not listening on port {remote.port}")
    slices = list(_slices(reader, remote))
    if not slices:
        return Verdict("False", "EndpointsNotFound", f"cannot find endpointslices for {named}")
    if not any(_has_endpoint(one, port_name) for one in slices):
        why = f"endpointslices for {named} have no addresses with port name {go_quote(port_name)}"
        return Verdict("False", "MissingEndpoints", why)
    return None


def _slices(reader: Reader, remote: Remote) -> Iterator[ReadOnlyObject]:
    for one in reader.list(ENDPOINT_SLICES, remote.namespace):
        if (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == remote.service:
            yield one


def _has_endpoint(one: ReadOnlyObject, port_name: str) -> bool:
    endpoints: Iterable[ReadOnlyObject] = one.get("endpoints") or ()
    is_any_ready = any((endpoint.get("conditions") or {}).get("ready") is not False for endpoint in endpoints)
    ports: Iterable[ReadOnlyObject] = one.get("ports") or ()
    return is_any_ready and any((port.get("name") or "") == port_name and port.get("port") for port in ports)


async def _of_server(remote: Remote, calls: Calls) -> Verdict:
    """Its group version's discovery is what every server has to answer."""
    try:
        url = calls.url(remote, remote.path)
    except ServiceError as error:
        return Verdict("False", "FailedDiscoveryCheck", str(error))
    try:
        answer = await calls.get(remote, remote.path)
    except (CallError, ServiceError) as error:
        why = str(error)
    else:
        if 200 <= answer.status < 300:
            return PASSED
        why = f"bad status from {url}: {answer.status}"
    return Verdict("False", "FailedDiscoveryCheck", f"failing or missing response from {url}: {why}")
