"""Which objects a node has to do with: those that the pods bound to it name, and what hangs on them.

The Node authorizer asks. Upstream keeps a graph of all pods (plugin/pkg/auth/authorizer/node/graph.go, v1.36); here
only who is bound where is kept (`watch/node_pods.py`), and what a pod names is looked up when its node asks, so that
nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from apiserver.storage.interface import Key
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import pod_references
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, namespace_of

CLAIMS, CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS = "persistentvolumeclaims", "configmaps", "secrets", "serviceaccounts"
RESOURCE_CLAIMS, VOLUMES = "resourceclaims.resource.k8s.io", "persistentvolumes"
PODS, SLICES, ATTACHMENTS = "pods", "resourceslices.resource.k8s.io", "volumeattachments.storage.k8s.io"

# Of pods whose names were looked up. Full: all are forgotten and looked up again.
MAX_KNOWN_PODS = 10_000

Names = frozenset[tuple[str, str]]  # (storage resource, name), in the pod's namespace
PodsOf = Callable[[str], Iterable[Key]]

# Volume sources of a persistent volume that name a secret a kubelet needs -> its fields.
_VOLUME_SECRETS = {
    "cephfs": ("secretRef",),
    "cinder": ("secretRef",),
    "flexVolume": ("secretRef",),
    "rbd": ("secretRef",),
    "scaleIO": ("secretRef",),
    "iscsi": ("secretRef",),
    "storageos": ("secretRef",),
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
}


class Relations:
    """Answers whether a node has to do with an object."""

    def __init__(self, reader: Reader, pods_of: PodsOf) -> None:
        self._reader, self._pods_of = reader, pods_of
        self._known: dict[Key, tuple[Object, Names]] = {}

    def exists(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Whether pods of the node, or what they name, lead to the object."""
        if resource in (PODS, SLICES, ATTACHMENTS):
            found = self._reader.get(resource, namespace, name) or {}
            return (found.get("spec") or {}).get("nodeName") == node
        if resource == VOLUMES:
            volume = self._reader.get(VOLUMES, "", name)
            return volume is not None and self._uses_volume(node, volume)
        if self._names(node, resource, namespace, name):
            return True
        return resource == SECRETS and self._needs_for_a_volume(node, namespace, name)

    def _names(self, node: str, resource: str, namespace: str, name: str) -> bool:
        wanted = (resource, name)
        return any(wanted in self._names_in(key) for key in self._pods_of(node) if key.namespace == namespace)

    def _names_in(self, key: Key) -> Names:
        """What one pod names. The reader hands out the same object until the pod changes."""
        pod = self._reader.get(PODS, key.namespace, key.name)
        if pod is None:
            return frozenset()
        known = self._known.get(key)
        if known is None or known[0] is not pod:
            if len(self._known) >= MAX_KNOWN_PODS:
                self._known.clear()
            known = self._known[key] = (pod, frozenset(_names_of(pod)))
        return known[1]

    def _uses_volume(self, node: str, volume: ReadOnlyObject) -> bool:
        claim = volume["spec"].get("claimRef")
        return claim is not None and self._names(node, CLAIMS, claim.get("namespace", ""), claim.get("name", ""))

    def _needs_for_a_volume(self, node: str, namespace: str, name: str) -> bool:
        """Looks at every volume, which only a node pays whose pods do not name the secret themselves."""
        return any(
            (namespace, name) in _secrets_of(volume) and self._uses_volume(node, volume)
            for volume in self._reader.list(VOLUMES)
        )


def _names_of(pod: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """Nothing for a mirror pod: a kubelet makes those itself, and must not gain anything by it."""
    if pod_references.MIRROR_ANNOTATION in annotations_of(pod):
        return
    account = (pod.get("spec") or {}).get("serviceAccountName")
    for resource, names in (
        (SERVICE_ACCOUNTS, [account] if account else []),
        (SECRETS, pod_references.secret_names(pod)),
        (CONFIG_MAPS, pod_references.config_map_names(pod)),
        (CLAIMS, pod_references.volume_claim_names(pod)),
        (RESOURCE_CLAIMS, pod_references.resource_claim_names(pod)),
    ):
        yield from ((resource, name) for name in names)


def _secrets_of(volume: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """(namespace, name) of the secrets a kubelet needs to mount a volume; the claim's namespace by default."""
    spec = volume["spec"]
    default = namespace_of({"metadata": spec.get("claimRef") or {}})
    if file := spec.get("azureFile"):
        yield file.get("secretNamespace") or default, file.get("secretName", "")
    references: Iterable[dict[str, Any]] = chain.from_iterable(
        ((spec.get(source) or {}).get(field) or {} for field in fields) for source, fields in _VOLUME_SECRETS.items()
    )
    yield from ((one.get("namespace") or default, one["name"]) for one in references if one.get("name"))
