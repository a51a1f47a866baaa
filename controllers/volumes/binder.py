"""persistentvolume-binder-controller: one reconcile of a claim, and one of a volume.

A binding is four writes: the volume's reference, its phase, the claim's volume name, its status. Each is skipped where
it stands already, so a binding that was interrupted is finished by the next reconcile, and two claims that want one
volume end in a Conflict for the later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controllers import claims
from controllers.pods import is_terminal, node_of
from controllers.volumes import migration, plan, reclaim
from controllers.volumes.plan import Notice
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, name_of, uid_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES, Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

COMPONENT = "persistentvolume-controller"
# Claims that wait are looked at again, and what they wait for is told again.
RESYNC_SECONDS = 15.0
_CLAIM_PROVISIONERS = (claims.STORAGE_PROVISIONER, claims.BETA_STORAGE_PROVISIONER)
_UNSETTLED, _BY_VOLUME, _BY_CLAIM, _BY_CLASS = "unsettled-of-class", "by-volume", "by-claim", "by-class"


class TakenVolume(Conflict):
    """A claim that we had bound finds its volume taken: tried again with backoff."""


def add_binder(manager: Manager) -> None:
    cache = Cache(manager)
    recorder = manager.event_recorder(COMPONENT)
    of_claims = Controller(
        "persistentvolume-claims",
        ClaimReconciler(manager.api, cache, recorder),
        [
            For(cache.claims),
            Watches(cache.volumes, cache.claims_that_mind),
            Watches(cache.classes, cache.claims_that_wait_for),
        ],
        resync_seconds=RESYNC_SECONDS,
    )
    manager.add(of_claims)
    of_volumes = VolumeReconciler(manager.api, cache, recorder)
    of_volumes.claims = of_claims
    manager.add(
        Controller(
            "persistentvolumes",
            of_volumes,
            [For(cache.volumes), Watches(cache.claims, cache.volumes_of)],
            resync_seconds=RESYNC_SECONDS,
        )
    )


class Cache:
    """What both reconcilers read: informers, and our own writes where those are newer."""

    def __init__(self, manager: Manager) -> None:
        self.claims = manager.informer(PERSISTENT_VOLUME_CLAIMS)
        self.volumes = manager.informer(PERSISTENT_VOLUMES)
        self.classes = manager.informer(STORAGE_CLASSES)
        self.pods = claims.index_pods(manager.informer(PODS))
        self.claims.add_index(_UNSETTLED, _class_of_unsettled)
        self.claims.add_index(_BY_VOLUME, lambda claim: filter(None, [claims.volume_name(claim)]))
        self.volumes.add_index(_BY_CLAIM, lambda volume: map(str, filter(None, [claims.claim_key(volume)])))
        self.volumes.add_index(_BY_CLASS, lambda volume: [claims.class_of(volume)])
        self._own_claims, self._own_volumes = OwnWrites(), OwnWrites()

    def claim(self, key: ObjectKey) -> Object | None:
        return _latest(self.claims, self._own_claims, key)

    def volume(self, name: str) -> Object | None:
        return _latest(self.volumes, self._own_volumes, ObjectKey("", name))

    def world(self, claim: ReadOnlyObject) -> plan.World:
        """As much of it as can matter to the claim."""
        name = claims.volume_name(claim)
        if name:
            return plan.World([volume for volume in [self.volume(name)] if volume is not None])
        kept = self.volumes.by_index(_BY_CLAIM, str(key_of(claim)))
        of_class = self.volumes.by_index(_BY_CLASS, claims.class_of(claim))
        volumes = [self._own_volumes.latest(volume) for volume in (*kept, *of_class)]
        pods = claims.pods_of(self.pods, key_of(claim))
        waiting = [name_of(pod) for pod in pods if not node_of(pod) and not is_terminal(pod)]
        return plan.World(volumes, self.classes.list(), waiting)

    def wrote(self, resource: Resource, before: ReadOnlyObject, after: Object) -> None:
        own = self._own_claims if resource == PERSISTENT_VOLUME_CLAIMS else self._own_volumes
        own.wrote(before, after)

    def unsettled(self, storage_class: str) -> list[ObjectKey]:
        """The claims of a class that look for a volume."""
        return [key_of(claim) for claim in self.claims.by_index(_UNSETTLED, storage_class)]

    def claims_that_wait_for(self, storage_class: ReadOnlyObject) -> list[ObjectKey]:
        """Those of the class, and those of none: it may be the default."""
        return self.unsettled(name_of(storage_class)) + self.unsettled("")

    def claims_that_mind(self, volume: ReadOnlyObject) -> list[ObjectKey]:
        """Whom a change of the volume may concern: who has it, who names it, and who may take it if it is free."""
        found = [key_of(claim) for claim in self.claims.by_index(_BY_VOLUME, name_of(volume))]
        if (key := claims.claim_key(volume)) is not None:
            found.append(key)
        elif (volume.get("status") or {}).get("phase") == plan.AVAILABLE:
            found += self.unsettled(claims.class_of(volume))
        return found

    def volumes_of(self, claim: ReadOnlyObject) -> list[ObjectKey]:
        kept = [key_of(volume) for volume in self.volumes.by_index(_BY_CLAIM, str(key_of(claim)))]
        name = claims.volume_name(claim)
        return [*kept, ObjectKey("", name)] if name else kept


class _Writer:
    """Updates that are skipped where nothing changes, and remembered until the cache shows them."""

    def __init__(self, api: Api, cache: Cache, recorder: EventRecorder) -> None:
        self._api, self._cache, self._recorder = api, cache, recorder

    async def _update(self, resource: Resource, before: Object, after: Object, subresource: str = "") -> Object:
        if after == before:
            return before
        written = await self._api.update(resource, after, subresource=subresource)
        self._cache.wrote(resource, before, written)
        return written

    async def _mark(self, resource: Resource, obj: Object, provisioner_keys: Sequence[str]) -> Object:
        """With the driver noted that took over from the object's provisioner."""
        annotations = migration.marked(obj, provisioner_keys)
        if annotations is None:
            return obj
        return await self._update(resource, obj, {**obj, "metadata": {**obj["metadata"], "annotations": annotations}})

    async def _set_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        status = {key: value for key, value in (volume.get("status") or {}).items() if key != "message"}
        if status.get("phase") == phase:
            return volume
        changed = {**status, "phase": phase} | ({"message": message} if message else {})
        return await self._update(PERSISTENT_VOLUMES, volume, {**volume, "status": changed}, "status")

    async def _tell(self, about: ReadOnlyObject, notice: Notice | None) -> None:
        if notice is not None:
            await self._recorder.event(about, notice.type, notice.reason, notice.message)


class ClaimReconciler(_Writer):
    async def reconcile(self, key: ObjectKey) -> Result:
        claim = self._cache.claim(key)
        if claim is not None:
            try:
                claim = await self._mark(PERSISTENT_VOLUME_CLAIMS, claim, _CLAIM_PROVISIONERS)
                await self._carry_out(claim, plan.claim_step(claim, self._cache.world(claim)))
            except NotFound:
                return DONE  # the claim or the volume went; both changes are told
        return DONE

    async def _carry_out(self, claim: Object, step: plan.ClaimStep) -> None:
        match step:
            case plan.Bind(volume):
                await self._bind(volume, claim)
            case plan.Wait(notice, is_wrong):
                await self._tell(claim, notice)
                if is_wrong:
                    raise TakenVolume(f"claim {key_of(claim)}: {notice.message if notice else ''}")
                await self._set_status(claim, plan.status_without_volume(claim, plan.PENDING))
            case plan.Lose(notice):
                await self._lose(claim, notice)
            case plan.TakeClass(name):
                changed = {**claim, "spec": {**claim["spec"], "storageClassName": name}}
                await self._update(PERSISTENT_VOLUME_CLAIMS, claim, changed)
            case plan.Provision(provisioner, notice):
                marks = {claims.BETA_STORAGE_PROVISIONER: provisioner, claims.STORAGE_PROVISIONER: provisioner}
                changed = {**claim, "metadata": claims.with_annotations(claim, marks)}
                await self._tell(await self._update(PERSISTENT_VOLUME_CLAIMS, claim, changed), notice)
            case plan.Complain(notice):
                await self._tell(claim, notice)

    async def _bind(self, volume: Object, claim: Object) -> None:
        volume = await self._update(PERSISTENT_VOLUMES, volume, claims.bound_to(volume, claim))
        volume = await self._set_phase(volume, plan.BOUND)
        claim = await self._update(PERSISTENT_VOLUME_CLAIMS, claim, plan.claimed(claim, volume))
        await self._set_status(claim, plan.bound_status(claim, volume))

    async def _lose(self, claim: Object, notice: Notice) -> None:
        """Only told once, and not where merely the cache has not seen the volume yet."""
        if (claim.get("status") or {}).get("phase") == plan.LOST:
            return
        name = claims.volume_name(claim)
        if name and self._cache.volume(name) is None and await self._exists(name):
            raise Conflict(f"persistentvolume {name} is not in the cache yet")
        await self._set_status(claim, plan.status_without_volume(claim, plan.LOST))
        await self._tell(claim, notice)

    async def _exists(self, volume_name: str) -> bool:
        try:
            await self._api.get(PERSISTENT_VOLUMES, volume_name)
        except NotFound:
            return False
        return True

    async def _set_status(self, claim: Object, status: Object) -> None:
        await self._update(PERSISTENT_VOLUME_CLAIMS, claim, {**claim, "status": status}, "status")


class VolumeReconciler(_Writer):
    claims: Controller

    async def reconcile(self, key: ObjectKey) -> Result:
        volume = self._cache.volume(key.name)
        if volume is None:
            return DONE
        claim = await self._claim_of(volume)
        try:
            volume = await self._mark(PERSISTENT_VOLUMES, volume, [claims.PROVISIONED_BY])
            await self._carry_out(volume, claim, plan.volume_step(volume, claim))
        except NotFound:
            return DONE
        return DONE

    async def _claim_of(self, volume: Object) -> Object | None:
        """The very claim that the volume refers to. That it is gone is only believed of the server itself."""
        key, uid = claims.claim_key(volume), (claims.claim_ref(volume) or {}).get("uid")
        if key is None or not uid:
            return None
        claim = self._cache.claim(key)
        if claim is not None and uid_of(claim) == uid:
            return claim
        if claim is None and (volume.get("status") or {}).get("phase") in (plan.RELEASED, plan.FAILED):
            return None
        try:
            claim = await self._api.get(PERSISTENT_VOLUME_CLAIMS, key.name, key.namespace)
        except NotFound:
            return None
        return claim if uid_of(claim) == uid else None

    async def _carry_out(self, volume: Object, claim: Object | None, step: plan.VolumeStep) -> None:
        match step:
            case plan.Become(phase):
                await self._set_phase(volume, phase)
            case plan.WakeClaim():
                assert claim is not None
                self.claims.enqueue(key_of(claim))
            case plan.Refuse(of_volume, of_claim):
                assert claim is not None
                await self._tell(volume, of_volume)
                await self._tell(claim, of_claim)
            case plan.Reclaim():
                await self._reclaim(volume)
            case plan.Unbind():
                await self._unbind(volume)

    async def _reclaim(self, volume: Object) -> None:
        if (volume.get("status") or {}).get("phase") != plan.FAILED:
            volume = await self._set_phase(volume, plan.RELEASED)
        if plan.policy_of(volume) == "Recycle" and (users := self._users(volume)):
            message = f"Volume is used by pods: {','.join(users)}"
            await self._tell(volume, Notice("Normal", "VolumeFailedRecycle", message))
            return
        match reclaim.reclamation(volume):
            case reclaim.Keep():
                return
            case reclaim.Recycle():
                await self._recycle(volume)
            case reclaim.Delete():
                await self._api.delete(PERSISTENT_VOLUMES, name_of(volume), uid=uid_of(volume))
            case reclaim.Fail(notice, phase):
                if (volume.get("status") or {}).get("phase") != phase:
                    await self._tell(await self._set_phase(volume, phase, notice.message), notice)

    def _users(self, volume: Object) -> list[str]:
        """The pods that still use the volume: not those of a new claim of that name, which has another one."""
        key = claims.claim_key(volume)
        if key is None or self._cache.claim(key) is not None:
            return []
        pods = claims.pods_of(self._cache.pods, key)
        return sorted(str(key_of(pod)) for pod in pods if not is_terminal(pod))

    async def _recycle(self, volume: Object) -> None:
        await self._tell(volume, Notice("Normal", "VolumeRecycled", "Volume recycled"))
        await self._unbind(volume)

    async def _unbind(self, volume: Object) -> None:
        volume = await self._update(PERSISTENT_VOLUMES, volume, plan.unbound(volume))
        await self._set_phase(volume, plan.AVAILABLE)


def _latest(informer: Informer, own: OwnWrites, key: ObjectKey) -> Object | None:
    cached = informer.get(key)
    if cached is None:
        own.forget(key)
        return None
    return own.latest(cached)


def _class_of_unsettled(claim: Object) -> Iterable[str]:
    return () if claims.BIND_COMPLETED in (claim["metadata"].get("annotations") or {}) else (claims.class_of(claim),)
