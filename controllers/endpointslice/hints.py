"""Hints: which zones and nodes should use an endpoint, for a Service with trafficDistribution. Pure.

k8s.io/endpointslice/trafficdist, v1.36. The older annotation service.kubernetes.io/topology-mode is not acted on:
Services with it get no hints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of

_SAME_ZONE = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})
_MODES = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


def hinted(service: ReadOnlyObject, endpoints: list[Object]) -> list[Object]:
    """The endpoints with the hints they should have."""
    distribution = service["spec"].get("trafficDistribution")
    if distribution not in _SAME_ZONE or _has_topology_mode(service):
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


def _has_topology_mode(service: ReadOnlyObject) -> bool:
    annotations = annotations_of(service)
    mode = next((annotations[name] for name in _MODES if name in annotations), "")
    return mode in ("Auto", "auto")
