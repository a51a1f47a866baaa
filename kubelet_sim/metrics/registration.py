"""Tells the API server where the metrics server is, while it is: a Service that leads here, the APIService, a role.

They are applied at the start, whatever was there, and removed at the end: an APIService nobody stands behind would be
in everybody's way. A process that was killed leaves them for its successor, or for `kubeloop up` to remove.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from kubelet_sim.metrics.objects import GROUP, VERSION
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.forwarding import FORWARD_TO
from kubeloop.apimachinery.meta import Object, name_of, namespace_of
from kubeloop.apimachinery.resource import API_SERVICES, CLUSTER_ROLES, SERVICES, Resource
from kubeloop.apimachinery.simulated_metrics import MANAGED_BY, MANAGER
from kubeloop.client.api import Api

log = structlog.get_logger(__name__)

NAME, NAMESPACE = "metrics-server", "kube-system"
_LABELS = {"k8s-app": NAME, MANAGED_BY: MANAGER}
_LEAVE_SECONDS = 2.0
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


def objects(forward_to: str, ca_bundle: str = "") -> list[tuple[Resource, Object]]:
    """What is applied, in order. `forward_to`: HOST:PORT, with `http://` before it where TLS is not spoken there."""
    service = {
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": _LABELS,
            "annotations": {FORWARD_TO: forward_to},
        },
        "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP"}]},
    }
    trust: Object = {"caBundle": ca_bundle} if ca_bundle else {"insecureSkipTLSVerify": True}
    api_service = {
        "metadata": {"name": f"{VERSION}.{GROUP}", "labels": _LABELS},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": NAME, "namespace": NAMESPACE, "port": 443},
            **trust,
        },
    }
    role = {
        "metadata": {
            "name": "system:aggregated-metrics-reader",
            "labels": {**_LABELS, **{f"{_AGGREGATE}{role}": "true" for role in ("view", "edit", "admin")}},
        },
        "rules": [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}],
    }
    return [(CLUSTER_ROLES, role), (SERVICES, service), (API_SERVICES, api_service)]


async def stand_for(api: Api, forward_to: str, ca_bundle: str = "") -> None:
    """Until cancelled."""
    wanted = objects(forward_to, ca_bundle)
    for resource, obj in wanted:
        await api.apply(resource, obj, field_manager=NAME, force=True)
    log.info("serving", apiservice=f"{VERSION}.{GROUP}", address=forward_to)
    try:
        await asyncio.Event().wait()
    finally:
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await _leave(api, wanted)


async def _leave(api: Api, wanted: list[tuple[Resource, Object]]) -> None:
    for resource, obj in reversed(wanted):
        with suppress(NotFound):
            await api.delete(resource, name_of(obj), namespace_of(obj))
