"""The variables that tell a container of Services: `REDIS_SERVICE_HOST=10.96.0.11` and those of Docker links.

Facts of pkg/kubelet/envvars/envvars.go and getServiceEnvVarMap in kubelet_pods.go (v1.36). A container that
really runs is told of the API server where it really is; of other Services at their cluster IPs, which lead nowhere
(docs/process-runtime.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from kubeloop.apimachinery.meta import ReadOnlyObject, metadata, name_of, namespace_of
from kubeloop.apimachinery.resource import SERVICES
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import Api

_API_SERVER = "kubernetes"  # in the namespace default


async def variables(api: Api, pod: ReadOnlyObject, server: str, until: datetime | None = None) -> dict[str, str]:
    """`server`: the URL at which the API server is told of. `until`: of what was created later the container, which
    began then, knows nothing. Raises ApiError.
    """
    known = _of_api_server(server)
    if pod["spec"].get("enableServiceLinks") is not False:
        namespace = namespace_of(pod)
        for service in (await api.list(SERVICES, namespace))["items"]:
            is_api_server = namespace == "default" and name_of(service) == _API_SERVER
            if not is_api_server and (until is None or _created(service) <= until):
                known |= _of(service)
    return known


def _created(service: ReadOnlyObject) -> datetime:
    return parse_time(metadata(service)["creationTimestamp"])


def _of_api_server(url: str) -> dict[str, str]:
    address = urlsplit(url)
    port = address.port or (443 if address.scheme == "https" else 80)
    ports = [{"name": address.scheme, "port": port, "protocol": "TCP"}]
    return _variables(_API_SERVER, address.hostname or "127.0.0.1", ports)


def _of(service: ReadOnlyObject) -> dict[str, str]:
    """Nothing of a headless one."""
    spec = service["spec"]
    host = spec.get("clusterIP") or ""
    if host in ("", "None") or not spec.get("ports"):
        return {}
    return _variables(metadata(service)["name"], host, spec["ports"])


def _variables(name: str, host: str, ports: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    prefix = _shouted(name)
    shown_host = f"[{host}]" if ":" in host else host
    known = {f"{prefix}_SERVICE_HOST": host, f"{prefix}_SERVICE_PORT": str(ports[0]["port"])}
    for one in ports:
        if one.get("name"):
            known[f"{prefix}_SERVICE_PORT_{_shouted(one['name'])}"] = str(one["port"])
    for i, one in enumerate(ports):
        protocol, port = (one.get("protocol") or "TCP"), str(one["port"])
        url = f"{protocol.lower()}://{shown_host}:{port}"
        link = f"{prefix}_PORT_{port}_{protocol.upper()}"
        if i == 0:
            known[f"{prefix}_PORT"] = url
        known |= {link: url, f"{link}_PROTO": protocol.lower(), f"{link}_PORT": port, f"{link}_ADDR": host}
    return known


def _shouted(name: str) -> str:
    return name.replace("-", "_").upper()
