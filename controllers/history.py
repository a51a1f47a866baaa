"""ControllerRevisions: the templates an owner has had, by which it tells its pods apart and goes back.

Used by the loops of StatefulSets and DaemonSets. Each revision holds a patch that puts a template in the place of the
present one, as `kubectl rollout undo` applies it. The functions are pure, `History` reads and writes.
pkg/controller/history, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controllers import children
from kubeloop.apimachinery.errors import AlreadyExists, Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_reference,
    is_controlled_by,
    key_of,
    labels_of,
    metadata,
    name_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import CONTROLLER_REVISIONS, Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import LabelSelector
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children

_MAX_PREFIX = 223


def data_of(template: ReadOnlyObject) -> Object:
    """The patch that brings this template back."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: ReadOnlyObject) -> Object:
    """The template that the revision's patch brings back."""
    template = ((revision.get("data") or {}).get("spec") or {}).get("template") or {}
    return {k: v for k, v in template.items() if k != "$patch"}


def says(revision: ReadOnlyObject, template: ReadOnlyObject) -> bool:
    """Whether the revision holds this very template. Nulls, which older versions wrote, do not count."""
    stored, wanted = revision.get("data"), data_of(template)
    return stored == wanted or _without_nulls(stored) == wanted


def number_of(revision: ReadOnlyObject) -> int:
    return revision.get("revision") or 0


def in_order(revisions: Iterable[Object]) -> list[Object]:
    """The newest last."""

    def place(revision: Object) -> tuple[int, str, str]:
        return number_of(revision), metadata(revision).get("creationTimestamp") or "", name_of(revision)

    return sorted(revisions, key=place)


def revision_name(owner: ReadOnlyObject, suffix: str) -> str:
    return f"{name_of(owner)[:_MAX_PREFIX]}-{suffix}"


def new_revision(
    owner: ReadOnlyObject, owner_resource: Resource, suffix: str, number: int, labels: Mapping[str, str]
) -> Object:
    """A revision of the owner's present template, with the template's labels and these, and the owner's annotations."""
    template = owner["spec"]["template"]
    described: Object = {
        "name": revision_name(owner, suffix),
        "namespace": namespace_of(owner),
        "labels": {**((template.get("metadata") or {}).get("labels") or {}), **labels},
        "ownerReferences": [controller_reference(owner, owner_resource.api_version, owner_resource.kind)],
    }
    annotations = metadata(owner).get("annotations")
    if annotations:
        described["annotations"] = annotations
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": described,
        "data": data_of(template),
        "revision": number,
    }


class History:
    """The revisions of the owners of one kind.

    One that was just made is known before the cache shows it: the next one's number depends on it.
    """

    def __init__(self, api: Api, revisions: Informer, owner_resource: Resource) -> None:
        self._api, self._owner_resource = api, owner_resource
        self._revisions = children.index(revisions)
        self._own_writes = OwnWrites()
        self._made: dict[ObjectKey, Object] = {}  # and not seen yet; everything that is listed anew is seen
        revisions.add_handler(lambda delta: self._forget_made(key_of(delta.obj)))
        revisions.add_relist_handler(self._made.clear)

    async def claim(self, owner: ReadOnlyObject, selector: LabelSelector, candidates: Sequence[Object]) -> list[Object]:
        """Those of the candidates that are the owner's now, in order."""
        owned = await claim_children(self._api, owner, self._owner_resource, selector, candidates, CONTROLLER_REVISIONS)
        return in_order(owned)

    def candidates(self, owner: ReadOnlyObject) -> list[Object]:
        """The owner's own, and the orphans it might adopt."""
        made = [found for found in self._made.values() if is_controlled_by(found, owner)]
        return [self._own_writes.latest(found) for found in [*children.candidates(self._revisions, owner), *made]]

    async def create(self, revision: Object) -> Object | None:
        """The revision, or the one of that name that says the same; None where that says another thing."""
        try:
            made = await self._api.create(CONTROLLER_REVISIONS, revision)
        except AlreadyExists:
            made = await self._api.get(CONTROLLER_REVISIONS, name_of(revision), namespace_of(revision))
            if not says(made, template_of(revision)):
                return None
        if self._revisions.get(key_of(made)) is None:
            self._made[key_of(made)] = made
        return made

    async def renumber(self, revision: ReadOnlyObject, number: int) -> Object:
        return await self._update(revision, {**revision, "revision": number})

    async def label(self, revision: ReadOnlyObject, labels: Mapping[str, str]) -> Object:
        """With these labels besides its own."""
        described = {**metadata(revision), "labels": {**labels_of(revision), **labels}}
        return await self._update(revision, {**revision, "metadata": described})

    async def delete(self, revision: ReadOnlyObject) -> None:
        self._own_writes.forget(key_of(revision))
        self._forget_made(key_of(revision))
        try:
            await self._api.delete(CONTROLLER_REVISIONS, name_of(revision), namespace_of(revision))
        except NotFound:
            return

    async def _update(self, revision: ReadOnlyObject, changed: Object) -> Object:
        try:
            written = await self._api.update(CONTROLLER_REVISIONS, changed)
        except (NotFound, Conflict):
            self._forget_made(key_of(revision))  # somebody else was faster: what the cache will say is right
            raise
        self._own_writes.wrote(revision, written)
        return written

    def _forget_made(self, key: ObjectKey) -> None:
        self._made.pop(key, None)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
