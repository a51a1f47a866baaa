"""Hints: which zones and nodes should use an endpoint, for a Service with trafficDistribution. Pure.

The older annotation service.kubernetes.io/topology-mode goes before it (topology). k8s.io/endpointslice/trafficdist,
v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.endpointslice import topology
from kubeloop.apimachinery.meta import Object, ReadOnlyObject

_SAME_ZONE = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})


def hinted(service: ReadOnlyObject, endpoints: list[Object]) -> list[Object]:
    """The endpoints with the hints they should have."""
    distribution = service["spec"].get("trafficDistribution")
    if distribution not in _SAME_ZONE or topology.is_asked_for(service):
        return [_with(endpoint, {}) for endpoint in endpoints]
    return [_with(endpoint, _hints(endpoint, distribution == "PreferSameNode")) for endpoint in endpoints]


def _hints(endpoint: Mapping[str, Any], by_node: bool) -> Object:
    """Only ready endpoints attract traffic; others keep what they have."""
    if not (endpoint.get("conditions") or {}).get("ready"):
        return dict(endpoint.get("hints") or {})
    hints: Object = {}
    if endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if by_node and endpoint.get("nodeName"):
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return hints


def _with(endpoint: Object, hints: Object) -> Object:
    bare = {k: v for k, v in endpoint.items() if k != "hints"}
    return {**bare, "hints": hints} if hints else bare
