"""persistentvolume-expander-controller: claims that ask for more than they have.

What our own provisioner made grows at once, as there is nothing to move. Anything else waits for somebody outside, and
an event says so. pkg/controller/volume/expand, v1.36, and the events of external-resizer.
"""

from __future__ import annotations

from controllers import claims
from controllers.volumes import migration
from controllers.volumes.plan import BOUND
from controllers.volumes.provisioner import PROVISIONER
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, annotations_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.apply import update_status
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For

_EXTERNAL = "waiting for an external controller to expand this PVC"


def add_expander(manager: Manager) -> None:
    claim_informer = manager.informer(PERSISTENT_VOLUME_CLAIMS)
    recorders = manager.event_recorder("volume_expand"), manager.event_recorder(f"external-resizer {PROVISIONER}")
    expander = Expander(manager.api, claim_informer, *recorders)
    manager.add(Controller("volume_expand", expander, [For(claim_informer, [is_size_changed])], workers=10))


class Expander:
    def __init__(self, api: Api, claim_informer: Informer, recorder: EventRecorder, resizer: EventRecorder) -> None:
        self._api, self._claims, self._recorder, self._resizer = api, claim_informer, recorder, resizer

    async def reconcile(self, key: ObjectKey) -> Result:
        claim = self._claims.get(key)
        if claim is None or not wants_more(claim):
            return DONE
        try:
            volume = await self._api.get(PERSISTENT_VOLUMES, claims.volume_name(claim))
            if (claims.claim_ref(volume) or {}).get("uid") != uid_of(claim):
                raise Conflict(f"persistent Volume is not bound to PVC being updated : {key}")
            if annotations_of(volume).get(claims.PROVISIONED_BY) == PROVISIONER:
                await self._expand(claim, volume)
            elif plugin := migration.plugin_of(volume):
                await self._leave_to_driver(claim, plugin)
            else:
                await self._recorder.event(claim, "Normal", "ExternalExpanding", _EXTERNAL)
        except NotFound:
            return DONE
        return DONE

    async def _leave_to_driver(self, claim: Object, plugin: str) -> None:
        message = f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
        await self._recorder.event(claim, "Normal", "ExternalExpanding", message)
        marks = {migration.STORAGE_RESIZER: migration.driver_for(plugin)}
        if annotations_of(claim).get(migration.STORAGE_RESIZER) != marks[migration.STORAGE_RESIZER]:
            patch = {"metadata": {"uid": uid_of(claim), "annotations": marks}}
            await self._api.patch(PERSISTENT_VOLUME_CLAIMS, name_of(claim), patch, namespace_of(claim))

    async def _expand(self, claim: Object, volume: Object) -> None:
        """The volume first: a claim never says it has what the volume has not."""
        message = f"External resizer is resizing volume {name_of(volume)}"
        await self._resizer.event(claim, "Normal", "Resizing", message)
        size = {"storage": claim["spec"]["resources"]["requests"]["storage"]}
        if claims.capacity(volume) < claims.requested(claim):
            patch = {"metadata": {"uid": uid_of(volume)}, "spec": {"capacity": size}}
            await self._api.patch(PERSISTENT_VOLUMES, name_of(volume), patch)
        status = {**claim["status"], "capacity": size, "allocatedResources": size}
        await update_status(self._api, PERSISTENT_VOLUME_CLAIMS, claim, status)
        await self._resizer.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")


def wants_more(claim: ReadOnlyObject) -> bool:
    return (claim.get("status") or {}).get("phase") == BOUND and claims.granted(claim) < claims.requested(claim)


def is_size_changed(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether an update may call for an expansion: more is asked for, or what was Pending is Bound."""
    return wants_more(new) and (not wants_more(old) or claims.requested(old) < claims.requested(new))
