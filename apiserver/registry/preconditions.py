"""What a writer says the stored object must be: its uid, its resourceVersion.

Upstream these are checked by the store under the registry, whose refusal names the key it has in etcd
(apiserver/pkg/storage/interfaces.go, kubeapiserver/default_storage_factory_builder.go; v1.36).
"""

from __future__ import annotations

from apiserver.registry.catalog import Kind
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import Object

# Resources whose key is not their plural, for history's sake.
_PREFIXES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
}
# Served by API servers of their own inside the API server, which name the group.
_WITH_GROUP = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def require_same(kind: Kind, metadata: Object, *, uid: str | None = None, resource_version: str | None = None) -> None:
    """Raise Conflict where the object, whose stored metadata this is, is not the one that is meant."""
    for label, wanted, found in (
        ("UID", uid, metadata.get("uid", "")),
        ("ResourceVersion", resource_version, metadata.get("resourceVersion", "")),
    ):
        if wanted and wanted != found:
            why = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {found}"
            key = _key(kind, metadata.get("namespace", ""), metadata["name"])
            raise Conflict.of(
                kind.plural,
                kind.group,
                metadata["name"],
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}",
            )


def _key(kind: Kind, namespace: str, name: str) -> str:
    prefix = _PREFIXES.get(str(kind.resource), kind.plural)
    group = kind.group if kind.is_custom or kind.group in _WITH_GROUP else ""
    return "/".join(["/registry", *filter(None, (group, prefix, namespace)), name])
