"""The caches of the attach-detach loop, asked by volume and by node."""

from __future__ import annotations

import re
from collections.abc import Iterable

from controllers import claims, node_pods
from controllers.attach_detach import model
from controllers.pods import node_of
from kubeloop.apimachinery.csi import attachment_name, csi_source, needs_attaching, unique_volume_name
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import (
    CSI_DRIVERS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTACHMENTS,
)
from kubeloop.runtime.manager import Manager

_BY_VOLUME, _BY_NODE, _BY_DRIVER = "by-volume", "by-node", "by-driver"
_is_own_name = re.compile(r"csi-[0-9a-f]{64}").fullmatch


class World:
    def __init__(self, manager: Manager) -> None:
        self.pods = node_pods.index(claims.index_pods(manager.informer(PODS)))
        self.claims = manager.informer(PERSISTENT_VOLUME_CLAIMS)
        self.volumes = manager.informer(PERSISTENT_VOLUMES)
        self.nodes = manager.informer(NODES)
        self.drivers = manager.informer(CSI_DRIVERS)
        self.attachments = manager.informer(VOLUME_ATTACHMENTS)
        self.attachments.add_index(_BY_VOLUME, lambda attachment: filter(None, [volume_of(attachment)]))
        self.attachments.add_index(_BY_NODE, lambda attachment: [attachment["spec"]["nodeName"]])
        self.volumes.add_index(
            _BY_DRIVER, lambda volume: [source["driver"] for source in [csi_source(volume)] if source]
        )
        # VolumeAttachments on their way out: nodes are told to forget the volume before it is taken away.
        self.releasing: set[str] = set()

    def volume(self, name: str) -> Object | None:
        return self.volumes.get(ObjectKey("", name))

    def node(self, name: str) -> Object | None:
        return self.nodes.get(ObjectKey("", name))

    def attachments_of(self, volume: str) -> dict[str, Object]:
        """Those this loop made, by node: their names tell."""
        known = self.volume(volume)
        return {
            node: found
            for found in self.attachments.by_index(_BY_VOLUME, volume)
            for node in [found["spec"]["nodeName"]]
            if (attachment_name(known, node) == name_of(found) if known is not None else _is_own_name(name_of(found)))
        }

    def users(self, volume: ReadOnlyObject) -> dict[str, list[Object]]:
        """The pods that need the volume attached, by node."""
        claim, driver = self._claim_of(volume), (csi_source(volume) or {}).get("driver", "")
        if claim is None or not needs_attaching(volume, self.drivers.get(ObjectKey("", driver))):
            return {}
        found: dict[str, list[Object]] = {}
        for pod in claims.pods_of(self.pods, key_of(claim)):
            node = self.node(node_of(pod)) if node_of(pod) else None
            if node is not None and model.is_managed(node) and model.needs_volumes(pod) and _uses(pod, claim):
                found.setdefault(name_of(node), []).append(pod)
        return found

    def reported(self, node: str) -> list[str]:
        """The unique names of what is attached to the node and stays so."""
        names = set()
        for attachment in self.attachments.by_index(_BY_NODE, node):
            volume = self.volume(volume_of(attachment))
            is_attached = bool((attachment.get("status") or {}).get("attached")) and not is_being_deleted(attachment)
            if volume is not None and is_attached and name_of(attachment) not in self.releasing:
                names.add(unique_volume_name(volume))
        return sorted(names)

    def _claim_of(self, volume: ReadOnlyObject) -> Object | None:
        """The claim that has the volume; each says so of the other."""
        key = claims.claim_key(volume)
        claim = self.claims.get(key) if key is not None else None
        if claim is None or (claim.get("status") or {}).get("phase") != "Bound":
            return None
        is_bound = claims.volume_name(claim) == name_of(volume)
        return claim if is_bound and (claims.claim_ref(volume) or {}).get("uid") == uid_of(claim) else None

    # -- whom a change concerns -----------------------------------------------------------------------------------

    def volumes_of_pod(self, pod: ReadOnlyObject) -> Iterable[ObjectKey]:
        if node_of(pod):
            for name in claims.claim_names(pod):
                claim = self.claims.get(ObjectKey(namespace_of(pod), name))
                if claim is not None:
                    yield from self.volumes_of_claim(claim)

    def volumes_of_claim(self, claim: ReadOnlyObject) -> Iterable[ObjectKey]:
        if name := claims.volume_name(claim):
            yield ObjectKey("", name)

    def volumes_of_attachment(self, attachment: ReadOnlyObject) -> Iterable[ObjectKey]:
        if name := volume_of(attachment):
            yield ObjectKey("", name)

    def volumes_of_node(self, node: ReadOnlyObject) -> Iterable[ObjectKey]:
        """What is attached there; and, of a node that comes, what its pods need."""
        for attachment in self.attachments.by_index(_BY_NODE, name_of(node)):
            yield from self.volumes_of_attachment(attachment)
        for pod in node_pods.pods_on(self.pods, name_of(node)):
            yield from self.volumes_of_pod(pod)

    def volumes_of_driver(self, driver: ReadOnlyObject) -> Iterable[ObjectKey]:
        return [key_of(volume) for volume in self.volumes.by_index(_BY_DRIVER, name_of(driver))]


def volume_of(attachment: ReadOnlyObject) -> str:
    """The PersistentVolume that is attached; "" for one that is written out."""
    return (attachment["spec"].get("source") or {}).get("persistentVolumeName") or ""


def has_news(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether a change of a node is more than a heartbeat."""
    return _facts(old) != _facts(new)


def _facts(node: ReadOnlyObject) -> tuple[object, ...]:
    taints = (node.get("spec") or {}).get("taints") or ()
    is_managed = bool(annotations_of(node)) and model.is_managed(node)
    in_use, attached = list(model.names_in_use(node)), model.names_attached(node)
    return in_use, attached, model.is_healthy(node), is_managed, [taint["key"] for taint in taints]


def _uses(pod: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """An ephemeral volume's claim has to be made for this very pod."""
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name_of(claim):
            return True
        if "ephemeral" in volume and claims.ephemeral_claim_name(pod, volume) == name_of(claim):
            return not claims.why_not_for_pod(pod, claim)
    return False
