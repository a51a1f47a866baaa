"""What is refused of a call that a kubelet would answer (logs, exec, attach, port-forward, proxy) before one is asked.

Facts: registry/core/pod/strategy.go, ValidatePodLogOptions and ConnectResource (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from apiserver.registry.options import Query, first, parse_int
from kubeloop.apimachinery.errors import BadRequest, Invalid, NotFound, ServiceUnavailable
from kubeloop.apimachinery.field import FieldError, forbidden, go_quote, invalid
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.validation import MUST_BE_NON_NEGATIVE

_POSITIVE = "must be greater than 0"
_SCHEMES = ("", "http", "https")


class Named(NamedTuple):
    """The object behind a connection's own name: `web`, `web:80` or `https:web:80` where it is a proxy."""

    name: str
    scheme: str = ""
    port: str = ""


def check_connection(query: Query, what: str, name: str, subresource: str) -> Named:
    """Who is meant. BadRequest where that cannot be read."""
    if "dryRun" in query:
        raise BadRequest("dryRun is not supported")
    if subresource != "proxy":
        return Named(name)
    parts = name.split(":")
    scheme, found, port = {1: ("", *parts, ""), 2: ("", *parts)}.get(len(parts), (*parts, "", "")[:3])
    if len(parts) > 3 or not found or scheme not in _SCHEMES:
        raise BadRequest(f'invalid {what} request "{name}"')
    return Named(found, scheme, port)


def check_log_options(query: Query, name: str) -> None:
    """Raise Invalid for options of a log that cannot be meant."""
    numbers = {
        option: parse_int(first(query, option))
        for option in ("sinceSeconds", "tailLines", "limitBytes")
        if option in query
    }
    errors: list[FieldError] = []
    if (lines := numbers.get("tailLines", 0)) < 0:
        errors.append(invalid("tailLines", lines, MUST_BE_NON_NEGATIVE))
    if (size := numbers.get("limitBytes", 1)) < 1:
        errors.append(invalid("limitBytes", size, _POSITIVE))
    if "sinceSeconds" in query and "sinceTime" in query:
        errors.append(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif (seconds := numbers.get("sinceSeconds", 1)) < 1:
        errors.append(invalid("sinceSeconds", seconds, _POSITIVE))
    if "stream" in query:
        errors.append(forbidden("stream", "may not be specified"))
    if errors:
        raise Invalid.of("PodLogOptions", "", name, errors)


def check_container(pod: ReadOnlyObject, wanted: str) -> str:
    """The container that is meant. BadRequest where the pod has none of this name, or several and none is named."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    known = _names(spec, "initContainers", "containers", "ephemeralContainers")
    if wanted:
        if wanted not in known:
            raise BadRequest(f"container {wanted} is not valid for pod {name}")
    elif len(spec.get("containers") or ()) > 1:
        raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{' '.join(known)}]")
    return wanted or str(spec["containers"][0]["name"])


class PodAddress(NamedTuple):
    """Where a Service leads."""

    pod: str
    ip: str
    port: int


def service_addresses(request: str, service: ReadOnlyObject, endpoints: ReadOnlyObject | None) -> Iterator[PodAddress]:
    """The ready pods behind a service that is to be proxied to; `request` is its name as it was sent. Addresses that
    are no pods are left out. Raises where the service has nothing of what is asked for.
    """
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    port = request.split(":")[-1] if ":" in request else ""
    if port.isascii() and port.isdigit():
        names = [each.get("name", "") for each in service["spec"].get("ports") or () if each["port"] == int(port)]
        if not names:
            raise ServiceUnavailable(f"no service port {int(port)} found for service {go_quote(name)}")
        port = names[0]
    if endpoints is None:
        raise NotFound.of("endpoints", "", name)
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        raise no_endpoints(name)
    for subset in subsets:
        for number in (each["port"] for each in subset.get("ports") or () if each.get("name", "") == port):
            for address in subset.get("addresses") or ():
                target = address.get("targetRef") or {}
                if target.get("kind") == "Pod" and target.get("namespace", namespace) == namespace:
                    yield PodAddress(target["name"], address["ip"], number)


def no_endpoints(name: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"no endpoints available for service {go_quote(name)}")


def _names(spec: Mapping[str, Any], *lists: str) -> list[str]:
    return [container["name"] for name in lists for container in spec.get(name) or ()]
