"""root-ca-certificate-publisher-controller: the config map kube-root-ca.crt in every active namespace.

Pods verify the API server by it: it is part of every pod's token volume, which waits for it. The bundle is the file of
--root-ca-file. Without one (a server on plain HTTP has no certificate) it is a placeholder whose key nobody has:
volumes need not wait for ever then. pkg/controller/certificates/rootcacertpublisher, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, annotations_of, name_of, namespace_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, NAMESPACES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

NAME = "kube-root-ca.crt"
_ANNOTATION = "kubernetes.io/description"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
    " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes"
    " clusters."
)

PLACEHOLDER = """\
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUc98vEySAP0p1M68LzlnhdPGLdeMwCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXa3ViZWxvb3AgcGxhY2Vob2xkZXIgQ0EwIBcNMjYxMTMwMDAx
MzM3WhgPMjEyNjExMDYwMDEzMzdaMCIxIDAeBgNVBAMMF2t1YmVsb29wIHBsYWNl
aG9sZGVyIENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEoFlo41Cnd4cEcQFc
KSs8lU3Nf2eoj6a2GpMiNsJtq8qEbSiw/EDE+W+nV+xo3Hex5qXutvQbBU24yMTq
qgsfKqNTMFEwHQYDVR0OBBYEFEoOQVgfT8IQFdi0gdGp+xQwg5wcMB8GA1UdIwQY
MBaAFEoOQVgfT8IQFdi0gdGp+xQwg5wcMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSAAwRQIgY4oVQhUO+RR78zgHVFq6fW2+KjzRAhoByaFReMZmAL4CIQCE
rGwXMPKdv6Kw9Rung5atShYhxkfAVBISrXNvXwSD/A==
-----END CERTIFICATE-----
"""


def add_to(manager: Manager, root_ca: str = PLACEHOLDER) -> None:
    namespaces = manager.informer(NAMESPACES)
    config_maps = manager.informer(CONFIG_MAPS, field_selector=f"metadata.name={NAME}")
    reconciler = RootCaReconciler(manager.api, namespaces, config_maps, root_ca)
    sources = [For(namespaces), Watches(config_maps, _namespace_of)]
    manager.add(Controller("root_ca_cert_publisher", reconciler, sources))


class RootCaReconciler:
    """Keys are namespaces."""

    def __init__(self, api: Api, namespaces: Informer, config_maps: Informer, root_ca: str) -> None:
        self._api, self._namespaces, self._config_maps = api, namespaces, config_maps
        self._data = {"ca.crt": root_ca}

    async def reconcile(self, key: ObjectKey) -> Result:
        namespace = self._namespaces.get(key)
        if namespace is None or (namespace.get("status") or {}).get("phase") != "Active":
            return DONE
        present = self._config_maps.get(ObjectKey(key.name, NAME))
        if present is None:
            await self._create(key.name)
        elif present.get("data") != self._data or not annotations_of(present).get(_ANNOTATION):
            await self._put_right(present)
        return DONE

    async def _create(self, namespace: str) -> None:
        described = {"name": NAME, "namespace": namespace, "annotations": {_ANNOTATION: _DESCRIPTION}}
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": described, "data": self._data}
        try:
            await self._api.create(CONFIG_MAPS, config_map)
        except NotFound:
            return  # the namespace is gone
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise

    async def _put_right(self, present: Object) -> None:
        annotations = {**annotations_of(present), _ANNOTATION: _DESCRIPTION}
        metadata = {**present["metadata"], "annotations": annotations}
        await self._api.update(CONFIG_MAPS, {**present, "metadata": metadata, "data": self._data})


def _namespace_of(config_map: Object) -> Iterable[ObjectKey]:
    return [ObjectKey("", namespace_of(config_map))] if name_of(config_map) == NAME else []
