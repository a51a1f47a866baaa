"""Deleting what was applied before and is not wanted any more.

What was applied stands in status.inventory, which is written before anything is: a controller that is killed between
the two knows afterwards what it may have applied. What does not bear the Application's mark is never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from examples.operators.gitops.health import health_of
from examples.operators.gitops.manifests import rank
from examples.operators.gitops.outcome import OUT_OF_SYNC, Outcome, is_of_the_connection
from examples.operators.gitops.tracked import Tracked, application_of
from examples.operators.gitops.wanted import Identity, Wanted
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, uid_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.discovery import KindMapper, NoMatch

Inventory = Mapping[Identity, str]  # the version it was last applied in


def inventory_of(application: ReadOnlyObject) -> Inventory:
    entries: Iterable[ReadOnlyObject] = (application.get("status") or {}).get("inventory") or ()
    return {Identity(*(entry.get(field) or "" for field in Identity._fields)): entry["version"] for entry in entries}


def with_wanted(inventory: Inventory, wanted: Iterable[Wanted]) -> Inventory:
    return {**inventory, **{one.identity: one.resource.version for one in wanted}}


def to_status(inventory: Inventory) -> list[Object]:
    """The entries of status.inventory; what is empty is left out."""
    entries = ({**identity._asdict(), "version": version} for identity, version in sorted(inventory.items()))
    return [{field: value for field, value in entry.items() if value} for entry in entries]


class Pruned(NamedTuple):
    """`gone` may leave the inventory; `outcomes` tell of what is still there."""

    gone: Sequence[Identity]
    outcomes: Sequence[Outcome]

    @property
    def is_underway(self) -> bool:
        """Whether something was asked to go and has not gone yet."""
        return any(outcome.is_changed for outcome in self.outcomes)


class Pruner:
    def __init__(self, api: Api, mapper: KindMapper, tracked: Tracked) -> None:
        self._api, self._mapper, self._tracked = api, mapper, tracked

    async def prune(self, application: ObjectKey, extras: Inventory, may_delete: bool) -> Pruned:
        """In the opposite order of applying."""
        gone, outcomes = [], []
        for identity in sorted(extras, key=lambda identity: rank(identity.kind), reverse=True):
            outcome = await self._prune_one(application, identity, extras[identity], may_delete)
            if outcome is None:
                gone.append(identity)
            else:
                outcomes.append(outcome)
        return Pruned(gone, outcomes)

    async def _prune_one(
        self, application: ObjectKey, identity: Identity, version: str, may_delete: bool
    ) -> Outcome | None:
        """None where it is gone, or is not the Application's."""
        live: ReadOnlyObject | None = None
        try:
            resource = await self._mapper.resource_in_any_version(identity.group, version, identity.kind)
            self._tracked.watch(resource)
            live = await self._ours(application, identity, resource)
            if live is not None and may_delete and not is_being_deleted(live):
                await self._delete(resource, identity, live)
                live = await self._ours(application, identity, resource)
        except NoMatch:
            return None  # nobody serves the kind: its objects went with it
        except ApiError as error:
            if is_of_the_connection(error):
                raise
            health = health_of(live, identity.group, identity.kind)
            return Outcome(identity, version, OUT_OF_SYNC, health, error.message, is_extra=True, is_failed=True)
        if live is None:
            return None
        health = health_of(live, identity.group, identity.kind)
        return Outcome(identity, version, OUT_OF_SYNC, health, is_extra=True, is_changed=is_being_deleted(live))

    async def _ours(self, application: ObjectKey, identity: Identity, resource: Resource) -> ReadOnlyObject | None:
        try:
            live = await self._api.get(resource, identity.name, identity.namespace)
        except NotFound as error:
            if error.details:
                return None
            self._mapper.forget(resource)  # not the object's 404 but the path's: it may be served in another version
            raise
        return live if application_of(live) == str(application) else None

    async def _delete(self, resource: Resource, identity: Identity, live: ReadOnlyObject) -> None:
        """The uid sees to it that no object of that name made since is hit."""
        try:
            await self._api.delete(
                resource, identity.name, identity.namespace, propagation_policy="Background", uid=uid_of(live)
            )
        except NotFound:
            return
