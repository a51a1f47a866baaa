"""Takes away what a simulated metrics server that was killed left in the cluster, where none is started in its stead.

An APIService nobody stands behind keeps namespaces from being deleted, and every kubectl complains of it.
"""

from __future__ import annotations

from contextlib import suppress

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import API_SERVICES, CLUSTER_ROLES, SERVICES
from kubeloop.apimachinery.simulated_metrics import MANAGED_BY, MANAGER
from kubeloop.client.api import Api


async def remove_left_metrics_server(api: Api) -> None:
    """Nothing where there is none."""
    for resource in (API_SERVICES, SERVICES, CLUSTER_ROLES):
        page = await api.list(resource, label_selector=f"{MANAGED_BY}={MANAGER}", metadata_only=True)
        for obj in page["items"]:
            with suppress(NotFound):
                await api.delete(resource, name_of(obj), namespace_of(obj), uid=uid_of(obj))
