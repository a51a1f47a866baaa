"""csi-attacher-sim: attaches and detaches at once, in the place of the external-attacher that runs beside a CSI driver.

Pods do not run here, and so nobody else would. Whoever runs a driver's own attacher against the cluster starts the
loops without this one (`--controllers=*,-csi-attacher-sim`). Semantics of kubernetes-csi/external-attacher.
"""

from __future__ import annotations

import re

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, key_of, name_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.apply import patch_status
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.finalizers import ensure_finalizer, remove_finalizer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

NAME = "csi-attacher-sim"
_BY_VOLUME = "of-volume"


def add_attacher(manager: Manager) -> None:
    attachments, volumes = manager.informer(VOLUME_ATTACHMENTS), manager.informer(PERSISTENT_VOLUMES)
    attachments.add_index(_BY_VOLUME, lambda attachment: [_volume_of(attachment)])
    reconciler = Attacher(manager.api, manager.clock, attachments, volumes)
    sources = [For(attachments), Watches(volumes, reconciler.attachments_of)]
    manager.add(Controller(NAME, reconciler, sources, workers=10))
    release = VolumeRelease(manager.api, attachments, volumes)
    of_volumes = [For(volumes), Watches(attachments, lambda attachment: [ObjectKey("", _volume_of(attachment))])]
    manager.add(Controller(f"{NAME}-volumes", release, of_volumes))


class Attacher:
    """Keys are VolumeAttachments."""

    def __init__(self, api: Api, clock: Clock, attachments: Informer, volumes: Informer) -> None:
        self._api, self._clock, self._attachments, self._volumes = api, clock, attachments, volumes

    async def reconcile(self, key: ObjectKey) -> Result:
        attachment = self._attachments.get(key)
        if attachment is None:
            return DONE
        finalizer = finalizer_of(attachment["spec"]["attacher"])
        try:
            if is_being_deleted(attachment):
                await remove_finalizer(self._api, VOLUME_ATTACHMENTS, attachment, finalizer)
            elif not (attachment.get("status") or {}).get("attached"):
                await self._attach(attachment, finalizer)
        except NotFound:
            return DONE
        return DONE

    async def _attach(self, attachment: Object, finalizer: str) -> None:
        """The finalizers first: what is attached does not go before it is detached."""
        if name := _volume_of(attachment):
            volume = self._volumes.get(ObjectKey("", name))
            if volume is None or is_being_deleted(volume):
                why = "not found" if volume is None else "is marked for deletion"
                why = f"PersistentVolume {go_quote(name)} {why}"
                if ((attachment.get("status") or {}).get("attachError") or {}).get("message") != why:
                    error = {"message": why, "time": format_time(self._clock.now())}
                    await patch_status(self._api, VOLUME_ATTACHMENTS, attachment, {"attachError": error})
                return
            await ensure_finalizer(self._api, PERSISTENT_VOLUMES, volume, finalizer)
        attachment = dict(await ensure_finalizer(self._api, VOLUME_ATTACHMENTS, attachment, finalizer))
        await patch_status(self._api, VOLUME_ATTACHMENTS, attachment, {"attached": True, "attachError": None})

    def attachments_of(self, volume: ReadOnlyObject) -> list[ObjectKey]:
        return [key_of(attachment) for attachment in self._attachments.by_index(_BY_VOLUME, name_of(volume))]


class VolumeRelease:
    """Keys are PersistentVolumes: one that is being deleted and attached nowhere loses the finalizer."""

    def __init__(self, api: Api, attachments: Informer, volumes: Informer) -> None:
        self._api, self._attachments, self._volumes = api, attachments, volumes

    async def reconcile(self, key: ObjectKey) -> Result:
        volume = self._volumes.get(key)
        if volume is None or not is_being_deleted(volume) or self._attachments.by_index(_BY_VOLUME, key.name):
            return DONE
        if source := (volume.get("spec") or {}).get("csi"):
            await remove_finalizer(self._api, PERSISTENT_VOLUMES, volume, finalizer_of(source["driver"]))
        return DONE


def finalizer_of(driver: str) -> str:
    name = re.sub(r"[^a-zA-Z0-9-]", "-", driver)
    return f"external-attacher/{name}X" if name.endswith("-") else f"external-attacher/{name}"


def _volume_of(attachment: ReadOnlyObject) -> str:
    return (attachment["spec"].get("source") or {}).get("persistentVolumeName") or ""
