"""The objects every cluster has from its first second: namespaces, priority classes, the kubernetes Service, RBAC.

`server.py` calls `bootstrap` before it serves. What exists already is left as it is, so a restart changes nothing.
"""

from __future__ import annotations

from typing import Any

from apiserver.auth.authentication import MASTERS, User
from apiserver.auth.bootstrap import BOOTSTRAP_OBJECTS
from apiserver.registry.context import Context
from apiserver.registry.registry import Registry
from apiserver.storage.interface import Key
from kubeloop.apimachinery.meta import Object, deep_copy

_SYSTEM = User("system:apiserver", groups=(MASTERS,))

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
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    },
}

# (group, version, plural, object), in the order in which they need each other.
_OBJECTS: tuple[tuple[str, str, str, Object], ...] = (
    *(("", "v1", "namespaces", {"metadata": {"name": name}}) for name in _NAMESPACES),
    *(("scheduling.k8s.io", "v1", "priorityclasses", obj) for obj in _PRIORITY_CLASSES),
    *(("rbac.authorization.k8s.io", "v1", plural, obj) for plural, obj in BOOTSTRAP_OBJECTS),
    ("", "v1", "services", _KUBERNETES_SERVICE),
)


async def bootstrap(registry: Registry) -> None:
    """Create what is missing."""
    await registry.machinery.cache.fresh()
    for group, version, plural, obj in _OBJECTS:
        await _ensure(registry, group, version, plural, deep_copy(obj))


async def _ensure(registry: Registry, group: str, version: str, plural: str, obj: dict[str, Any]) -> None:
    kind = registry.catalog.get(group, version, plural)
    assert kind is not None, f"{plural} is in the catalog"
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if registry.machinery.cache.get(Key(kind.storage, namespace, metadata["name"])) is not None:
        return
    kind.strategy.default(obj)
    await registry.store(kind).create(obj, Context(_SYSTEM, namespace))
