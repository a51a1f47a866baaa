"""The provisioner `kubeloop.io/hostpath-sim`: volumes for claims, out of nothing.

To the binder it is one of the outside provisioners, and it keeps to their rules (sig-storage-lib-external-provisioner):
it acts on claims that the binder has marked for it, waits for the scheduler's choice of a node where the class says so,
and holds what it made with a finalizer until that is removed. Nodes are simulated, so nothing is ever stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from controllers import claims
from controllers.volumes import plan
from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    finalizers_of,
    is_being_deleted,
    key_of,
    labels_of,
    name_of,
    uid_of,
)
from kubeloop.apimachinery.resource import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.finalizers import remove_finalizer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

PROVISIONER = "kubeloop.io/hostpath-sim"
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
HOSTNAME = "kubernetes.io/hostname"
_ROOT = "/tmp/hostpath-sim"

DEFAULT_CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": PROVISIONER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
}


def add_provisioner(manager: Manager, default_storage_class: bool = False) -> None:
    """With `default_storage_class` a cluster that has no default class gets one, `standard`, once at the start."""
    claim_informer = manager.informer(PERSISTENT_VOLUME_CLAIMS)
    classes, nodes = manager.informer(STORAGE_CLASSES), manager.informer(NODES)
    recorder = manager.event_recorder(PROVISIONER)
    provisioner = Provisioner(manager.api, claim_informer, classes, nodes, recorder)
    sources = [For(claim_informer), Watches(classes, provisioner.claims_of_class)]
    manager.add(Controller("hostpath-sim-claims", provisioner, sources, workers=4))
    volumes = manager.informer(PERSISTENT_VOLUMES)
    manager.add(Controller("hostpath-sim-volumes", Deleter(manager.api, volumes), [For(volumes)], workers=4))
    if default_storage_class:
        manager.add_task("default storage class", DefaultClass(manager.api, classes).ensure)


class Provisioner:
    """Its keys are claims."""

    def __init__(
        self, api: Api, claim_informer: Informer, classes: Informer, nodes: Informer, recorder: EventRecorder
    ) -> None:
        self._api, self._claims, self._classes, self._nodes = api, claim_informer, classes, nodes
        self._recorder = recorder

    async def reconcile(self, key: ObjectKey) -> Result:
        claim = self._claims.get(key)
        if claim is None or not is_ours(claim):
            return DONE
        storage_class = self._classes.get(ObjectKey("", claims.class_of(claim)))
        if storage_class is None or storage_class["provisioner"] != PROVISIONER:
            return DONE
        node_name = annotations_of(claim).get(claims.SELECTED_NODE, "")
        if claims.is_delayed(storage_class) and not node_name:
            return DONE
        node = self._nodes.get(ObjectKey("", node_name)) if node_name else None
        if node_name and node is None:
            await self._give_back(claim)
            return DONE
        await self._provision(claim, storage_class, node)
        return DONE

    def claims_of_class(self, storage_class: Object) -> Sequence[ObjectKey]:
        """Its claims may have been seen before the class was."""
        name = name_of(storage_class)
        return [key_of(claim) for claim in self._claims.list() if claims.class_of(claim) == name and is_ours(claim)]

    async def _provision(self, claim: Object, storage_class: Object, node: Object | None) -> None:
        if (claim["spec"].get("selector")) is not None:
            await self._tell(claim, "Warning", "ProvisioningFailed", _failure(storage_class, _NO_SELECTOR))
            return
        message = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
        await self._tell(claim, "Normal", "Provisioning", message)
        volume = volume_for(claim, storage_class, node)
        try:
            await self._api.create(PERSISTENT_VOLUMES, volume)
        except AlreadyExists:
            return
        message = f"Successfully provisioned volume {name_of(volume)}"
        await self._tell(claim, "Normal", "ProvisioningSucceeded", message)

    async def _give_back(self, claim: Object) -> None:
        """The chosen node is gone: the scheduler has to choose again."""
        patch = {"metadata": {"annotations": {claims.SELECTED_NODE: None}, "uid": uid_of(claim)}}
        try:
            await self._api.patch(PERSISTENT_VOLUME_CLAIMS, name_of(claim), patch, key_of(claim).namespace)
        except NotFound:
            return

    async def _tell(self, claim: ReadOnlyObject, event_type: str, reason: str, message: str) -> None:
        await self._recorder.event(claim, event_type, reason, message)


class Deleter:
    """Its keys are volumes: those that we made, whose claim is gone, and that are not to be retained."""

    def __init__(self, api: Api, volumes: Informer) -> None:
        self._api, self._volumes = api, volumes

    async def reconcile(self, key: ObjectKey) -> Result:
        volume = self._volumes.get(key)
        if volume is None or not may_delete(volume):
            return DONE
        try:
            await self._api.delete(PERSISTENT_VOLUMES, key.name, uid=uid_of(volume))
            await remove_finalizer(self._api, PERSISTENT_VOLUMES, await self._current(key), FINALIZER)
        except NotFound:
            return DONE
        return DONE

    async def _current(self, key: ObjectKey) -> Object:
        return await self._api.get(PERSISTENT_VOLUMES, key.name)


class DefaultClass:
    def __init__(self, api: Api, classes: Informer) -> None:
        self._api, self._classes = api, classes

    async def ensure(self) -> None:
        """Only where no class at all is the default: whoever chose one is not to be surprised."""
        if plan.default_class(self._classes.list()) is not None:
            return
        try:
            await self._api.create(STORAGE_CLASSES, DEFAULT_CLASS)
        except AlreadyExists:
            return


_NO_SELECTOR = "claim Selector is not supported"


def is_ours(claim: ReadOnlyObject) -> bool:
    """Whether the binder waits for us to make a volume for the claim."""
    annotations = annotations_of(claim)
    marked = annotations.get(claims.STORAGE_PROVISIONER, annotations.get(claims.BETA_STORAGE_PROVISIONER))
    return marked == PROVISIONER and not claims.volume_name(claim) and not is_being_deleted(claim)


def may_delete(volume: ReadOnlyObject) -> bool:
    if annotations_of(volume).get(claims.PROVISIONED_BY) != PROVISIONER or plan.policy_of(volume) != "Delete":
        return False
    is_over = (volume.get("status") or {}).get("phase") == plan.RELEASED
    return is_over and (not is_being_deleted(volume) or FINALIZER in finalizers_of(volume))


def volume_for(claim: ReadOnlyObject, storage_class: ReadOnlyObject, node: ReadOnlyObject | None) -> Object:
    """Kept for the claim from the start. On one node where the scheduler chose one, else wherever the class allows."""
    name = f"pvc-{uid_of(claim)}"
    policy = storage_class.get("reclaimPolicy") or "Delete"
    metadata: Object = {"name": name, "annotations": {claims.PROVISIONED_BY: PROVISIONER}}
    if policy == "Delete":
        metadata["finalizers"] = [FINALIZER]
    spec: Object = {
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "accessModes": list(claims.access_modes(claim)),
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": name_of(storage_class),
        "volumeMode": claims.volume_mode(claim),
        "claimRef": claims.reference_to_claim(claim),
        "hostPath": {"path": f"{_ROOT}/{name}", "type": "DirectoryOrCreate"},
    }
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = list(storage_class["mountOptions"])
    if claims.attributes_class(claim):
        spec["volumeAttributesClassName"] = claims.attributes_class(claim)
    terms = _terms(storage_class, node)
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def _terms(storage_class: ReadOnlyObject, node: ReadOnlyObject | None) -> list[Object]:
    if node is not None:
        values = [labels_of(node).get(HOSTNAME, name_of(node))]
        return [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": values}]}]
    return [
        {
            "matchExpressions": [
                {"key": wanted["key"], "operator": "In", "values": list(wanted["values"])}
                for wanted in term.get("matchLabelExpressions") or ()
            ]
        }
        for term in storage_class.get("allowedTopologies") or ()
    ]


def _failure(storage_class: ReadOnlyObject, why: str) -> str:
    return f'failed to provision volume with StorageClass "{name_of(storage_class)}": {why}'
