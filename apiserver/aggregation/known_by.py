"""How aggregated API servers know users, and this server: the ConfigMap they all read when they start.

Facts: pkg/controlplane/controller/clusterauthenticationtrust (v1.36).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from apiserver.registry.context import SERVER, Context
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import SYSTEM
from apiserver.registry.strategy import ServerRules
from kubeloop.apimachinery.meta import Object

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"


def known_by(client_ca: str, front_proxy_ca: str, allowed_names: list[str]) -> Mapping[str, str]:
    """The ConfigMap's data. PEM of who certifies users, and of who certifies this server to others ("": nobody).

    `allowed_names`: the common names of its certificate.
    """
    data = {"client-ca-file": client_ca} if client_ca else {}
    if front_proxy_ca:
        data |= {
            "requestheader-allowed-names": json.dumps(allowed_names, separators=(",", ":")),
            "requestheader-client-ca-file": front_proxy_ca,
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        }
    return data


async def publish(registry: Registry, data: Mapping[str, str]) -> None:
    """Make the ConfigMap, or bring it up to date; what else is in it stays."""
    if not data:
        return
    kind = registry.catalog.by_kind("", "ConfigMap")
    assert kind is not None, "ConfigMaps are in the catalog"
    stored = registry.machinery.reader.get(kind.storage, NAMESPACE, NAME)
    if stored is None:
        obj = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": dict(data)}
        await registry.machinery.cluster.create("", "ConfigMap", obj)
    elif not data.items() <= (stored.get("data") or {}).items():

        def change(current: Object) -> Object:
            return {**current, "data": {**(current.get("data") or {}), **data}}

        context = Context(SYSTEM, NAMESPACE, NAME, field_manager=SERVER)
        await registry.store(kind).patch(change, context, ServerRules())
