"""Keeping a VolumeAttributesClass as long as a volume or claim names it.

volumeattributesclass-protection-controller (pkg/controller/volume/vacprotection, v1.36). Admission puts the finalizer
on; classes that came before it get it here.
"""

from __future__ import annotations

from controllers import claims
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, name_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.finalizers import ensure_finalizer, remove_finalizer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

FINALIZER = "kubernetes.io/vac-protection"
_INDEX = "attributes-class"


def add_class_protection(manager: Manager) -> None:
    classes = manager.informer(VOLUME_ATTRIBUTES_CLASSES)
    users = [manager.informer(PERSISTENT_VOLUMES), manager.informer(PERSISTENT_VOLUME_CLAIMS)]
    for informer in users:
        informer.add_index(_INDEX, class_names)
    sources = [For(classes), *(Watches(informer, classes_of, [names_others]) for informer in users)]
    manager.add(Controller("vacprotection", ClassProtection(manager.api, classes, users), sources))


class ClassProtection:
    def __init__(self, api: Api, classes: Informer, users: list[Informer]) -> None:
        self._api, self._classes, self._users = api, classes, users

    async def reconcile(self, key: ObjectKey) -> Result:
        found = self._classes.get(key)
        if found is None:
            return DONE
        if not is_being_deleted(found):
            await ensure_finalizer(self._api, VOLUME_ATTRIBUTES_CLASSES, found, FINALIZER)
        elif not any(informer.by_index(_INDEX, name_of(found)) for informer in self._users):
            await remove_finalizer(self._api, VOLUME_ATTRIBUTES_CLASSES, found, FINALIZER)
        return DONE


def class_names(obj: ReadOnlyObject) -> list[str]:
    """The classes that a volume has, or that a claim wants, has, or is being given."""
    status = obj.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (claims.attributes_class(obj), status.get("currentVolumeAttributesClassName"), target)
    return sorted({name for name in names if name})


def classes_of(obj: ReadOnlyObject) -> list[ObjectKey]:
    return [ObjectKey("", name) for name in class_names(obj)]


def names_others(old: Object, new: Object) -> bool:
    return class_names(old) != class_names(new)
