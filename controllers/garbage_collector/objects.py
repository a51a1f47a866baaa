"""Live reads and writes of objects known by identity: the collector trusts no cache where it deletes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from controllers.discovery import Served
from controllers.garbage_collector.identity import Identity, Reference
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound, UnsupportedMediaType
from kubeloop.apimachinery.meta import Object, finalizers_of, owner_references_of, resource_version_of, uid_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import MERGE, STRATEGIC, Api

_CONFLICT_TRIES = 5


class Unsettled(Conflict):
    """No refusal: what is known does not suffice yet. Tried again with backoff, without a fuss in the log."""


class ClusterOwnedByNamespaced(ApiError):
    """A cluster-scoped object refers to a namespaced owner: nobody can say which one is meant, so nothing is done."""


class Objects:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._resources: dict[tuple[str, str], Resource] = {}

    def learn(self, served: Iterable[Served]) -> None:
        """What discovery says of kinds; what it said before is forgotten."""
        known = {(entry.resource.api_version, entry.resource.kind): entry.resource for entry in served}
        self._resources = known

    def resource(self, api_version: str, kind: str) -> Resource:
        resource = self._resources.get((api_version, kind))
        if resource is None:
            raise Unsettled(f'unable to get REST mapping for {api_version}/{kind}: no matches for kind "{kind}"')
        return resource

    async def get(self, identity: Identity) -> Object | None:
        """The object of this identity, uid included; None where there is none."""
        resource, namespace = self._address(identity)
        try:
            found = await self._api.get(resource, identity.name, namespace)
        except NotFound:
            return None
        return found if uid_of(found) == identity.uid else None

    async def delete(self, identity: Identity, seen: Mapping[str, object], policy: str) -> bool:
        """Delete the object as `seen`; False where it is gone.

        Only a change of its owner references is a reason to think again; other changes must not starve collection.
        """
        resource, namespace = self._address(identity)

        async def attempt(resource_version: str) -> None:
            await self._api.delete(
                resource,
                identity.name,
                namespace,
                propagation_policy=policy,
                uid=identity.uid,
                resource_version=resource_version,
            )

        try:
            await attempt(resource_version_of(seen))
        except NotFound:
            return False
        except Conflict as conflict:
            live = await self.get(identity)
            if live is None:
                return False
            if list(owner_references_of(live)) != list(owner_references_of(seen)):
                raise conflict
            await attempt("")
        return True

    async def drop_references(self, identity: Identity, owner_uids: Sequence[str]) -> None:
        """The object is no longer owned by these."""
        dropped = [{"$patch": "delete", "uid": uid} for uid in owner_uids]
        await self._patch_references(identity, dropped, lambda ref: None if ref.get("uid") in owner_uids else ref)

    async def unblock_references(self, identity: Identity, references: Sequence[Reference]) -> None:
        """Its references no longer block the deletion of its owners."""
        unblocked = [{**ref, "blockOwnerDeletion": False} for ref in references if ref.get("blockOwnerDeletion")]
        await self._patch_references(identity, unblocked, lambda ref: {**ref, "blockOwnerDeletion": False})

    async def remove_finalizer(self, identity: Identity, finalizer: str) -> None:
        """Guarded by the resourceVersion, as finalizers are one list: others may change it meanwhile."""
        resource, namespace = self._address(identity)
        for _ in range(_CONFLICT_TRIES):
            live = await self.get(identity)
            if live is None or finalizer not in finalizers_of(live):
                return
            left = [kept for kept in finalizers_of(live) if kept != finalizer]
            patch = {"metadata": {"resourceVersion": resource_version_of(live), "finalizers": left}}
            try:
                await self._api.patch(resource, identity.name, patch, namespace, patch_type=MERGE)
                return
            except NotFound:
                return
            except Conflict:
                continue
        raise Unsettled(f"finalizer {finalizer} of {identity} could not be removed: it changes too fast")

    async def _patch_references(
        self, identity: Identity, strategic: Sequence[Reference], change: Callable[[Reference], Reference | None]
    ) -> None:
        """A strategic patch, or for custom resources, which know none, a merge patch of the whole changed list."""
        resource, namespace = self._address(identity)
        patch = {"metadata": {"ownerReferences": strategic, "uid": identity.uid}}
        try:
            await self._api.patch(resource, identity.name, patch, namespace, patch_type=STRATEGIC)
        except UnsupportedMediaType:
            live = await self.get(identity)
            if live is None:
                raise NotFound.of(resource.plural, resource.group, identity.name) from None
            changed = [ref for ref in map(change, owner_references_of(live)) if ref is not None]
            merge = {"metadata": {"ownerReferences": changed, "resourceVersion": resource_version_of(live)}}
            await self._api.patch(resource, identity.name, merge, namespace, patch_type=MERGE)

    def _address(self, identity: Identity) -> tuple[Resource, str]:
        resource = self.resource(identity.api_version, identity.kind)
        if resource.namespaced and not identity.namespace:
            raise ClusterOwnedByNamespaced(f"{identity}: cluster-scoped objects cannot refer to namespaced owners")
        return resource, identity.namespace if resource.namespaced else ""
