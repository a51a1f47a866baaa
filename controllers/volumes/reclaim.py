"""What becomes of a volume whose claim is gone, by its reclaim policy. Pure.

Retained volumes stay. Recycling and deleting is done for the sources that upstream's own plugins serve (host paths and
NFS); as nothing is really stored anywhere, both succeed at once. What an outside provisioner made is left to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from controllers import claims
from controllers.volumes import migration
from controllers.volumes.plan import FAILED, Notice, policy_of
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, name_of

_RECYCLABLE = ("hostPath", "nfs")
_WITH_PLUGIN = ("hostPath", "nfs", "fc", "iscsi")  # of the volumes that the binder's process knows itself
_may_delete = re.compile(r"/tmp/.+").search


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do, or not for us."""


@dataclass(frozen=True, slots=True)
class Recycle:
    """Free it for the next claim."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the volume object."""


@dataclass(frozen=True, slots=True)
class Fail:
    """It cannot be reclaimed: phase Failed."""

    notice: Notice
    phase: str = FAILED


Reclamation = Keep | Recycle | Delete | Fail


def reclamation(volume: ReadOnlyObject) -> Reclamation:
    if annotations_of(volume).get(migration.MIGRATED_TO):
        return Keep()
    match policy_of(volume):
        case "Retain":
            return Keep()
        case "Recycle":
            if _has(volume, _RECYCLABLE):
                return Recycle()
            return _failure("VolumeFailedRecycle", "No recycler plugin found for the volume!")
        case "Delete":
            return _deletion(volume)
        case _:
            message = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            return _failure("VolumeUnknownReclaimPolicy", message)


def _deletion(volume: ReadOnlyObject) -> Reclamation:
    made_by = annotations_of(volume).get(claims.PROVISIONED_BY, "")
    if made_by and not made_by.startswith("kubernetes.io/"):
        return Keep()
    if not made_by and _has(volume, ("csi",)):
        return Keep()
    if made_by and made_by != "kubernetes.io/host-path":
        return _failure("VolumeFailedDelete", "no volume plugin matched")
    if not _has(volume, ("hostPath",)):
        why = "no deletable volume plugin matched" if _has(volume, _WITH_PLUGIN) else "no volume plugin matched"
        message = f"error getting deleter volume plugin for volume {go_quote(name_of(volume))}: {why}"
        return _failure("VolumeFailedDelete", message)
    path = volume["spec"]["hostPath"]["path"]
    if not _may_delete(path):
        message = f"host_path deleter only supports /tmp/.+ but received provided {path}"
        return _failure("VolumeFailedDelete", message)
    return Delete()


def _has(volume: ReadOnlyObject, sources: tuple[str, ...]) -> bool:
    return any(source in volume["spec"] for source in sources)


def _failure(reason: str, message: str) -> Fail:
    return Fail(Notice("Warning", reason, message))
