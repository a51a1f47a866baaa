"""The objects every cluster has from its first second: namespaces, priority classes, the kubernetes Service, RBAC.

`server.py` calls `bootstrap` before it serves. What exists already is left as it is, but for roles and bindings: those
get back what they lack, as upstream.
"""

from __future__ import annotations

import asyncio
from ipaddress import ip_network

from apiserver.auth.bootstrap.policy import OBJECTS
from apiserver.auth.bootstrap.reconciliation import is_bound_elsewhere, reconciled
from apiserver.auth.rbac import GROUP as RBAC
from apiserver.registry.catalog import Kind
from apiserver.registry.context import SERVER, Context
from apiserver.registry.options import DeleteOptions
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import SYSTEM
from apiserver.storage.interface import Key
from kubeloop.apimachinery.meta import Object, deep_copy

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

_CRITICAL = "Used for system critical pods that must {}."
_PRIORITY_CLASSES: tuple[Object, ...] = (
    {
        "metadata": {"name": "system-node-critical"},
        "value": 2_000_001_000,
        "description": _CRITICAL.format("not be moved from their current node"),
    },
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": 2_000_000_000,
        "description": _CRITICAL.format("run in the cluster, but can be moved to another node if necessary"),
    },
)
_KUBERNETES_SERVICE: Object = {
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    },
}

_FIRST: tuple[tuple[str, str, Object], ...] = tuple(("", "Namespace", {"metadata": {"name": n}}) for n in _NAMESPACES)
_THEN: tuple[tuple[str, str, Object], ...] = (
    *(("scheduling.k8s.io", "PriorityClass", obj) for obj in _PRIORITY_CLASSES),
    *((RBAC, obj["kind"], obj) for obj in OBJECTS),
)


async def bootstrap(registry: Registry) -> None:
    """Create what is missing: the namespaces first, then what may lie in them, all sharing a few commits."""
    await registry.machinery.cache.fresh()
    service = ("", "Service", _kubernetes_service(registry.machinery.cluster.service_ranges[0]))
    for objects in (_FIRST, (*_THEN, service)):
        async with asyncio.TaskGroup() as tasks:
            for group, kind, obj in objects:
                tasks.create_task(_ensure(registry, group, kind, deep_copy(obj)))
        await registry.machinery.cache.fresh()


def _kubernetes_service(service_range: str) -> Object:
    """It has the first address there is."""
    address = str(ip_network(service_range)[1])
    return {**_KUBERNETES_SERVICE, "spec": {**_KUBERNETES_SERVICE["spec"], "clusterIP": address}}


async def create_namespace(registry: Registry, name: str) -> None:
    """For somebody who writes into one that is not there (NamespaceAutoProvision)."""
    await registry.machinery.cluster.create("", "Namespace", {"metadata": {"name": name}})
    await registry.machinery.cache.fresh()


async def _ensure(registry: Registry, group: str, kind_name: str, obj: Object) -> None:
    kind = registry.catalog.by_kind(group, kind_name)
    assert kind is not None, f"{kind_name} is in the catalog"
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    existing = registry.machinery.cache.get(Key(kind.storage, namespace, metadata["name"]))
    if existing is not None and (group != RBAC or not await _reconcile(registry, kind, existing.object(), obj)):
        return
    obj.pop("kind", None)
    obj.pop("apiVersion", None)
    await registry.machinery.cluster.create(group, kind_name, obj)


async def _reconcile(registry: Registry, kind: Kind, existing: Object, expected: Object) -> bool:
    """Give a role or binding back what it lacks; True where it was removed, to be made anew."""
    metadata = existing["metadata"]
    context = Context(SYSTEM, metadata.get("namespace", ""), metadata["name"], field_manager=SERVER)
    if is_bound_elsewhere(existing, expected):
        await registry.deleter(kind).delete(context, DeleteOptions(uid=metadata["uid"]))
        return True
    made = reconciled(existing, expected)
    if made is not None:
        await registry.store(kind).update(deep_copy(made), context)
    return False
