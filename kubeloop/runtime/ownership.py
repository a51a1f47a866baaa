"""Whose child is this: adopting orphans that match, releasing children that no longer do.

Deciding is pure (`claim`), acting short (`claim_children`). Semantics of
pkg/controller/controller_ref_manager.go (v1.36): an owner adopts only after an uncached read shows that it still
exists and is not being deleted, or the garbage collector would race with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubeloop.apimachinery.errors import ApiError, Invalid, NotFound, UnsupportedMediaType
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    controller_of,
    controller_reference,
    finalizers_of,
    is_being_deleted,
    labels_of,
    name_of,
    namespace_of,
    owner_references_of,
    resource_version_of,
    uid_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.client.store import LabelSelector
from kubeloop.runtime.result import Unfinished


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """What to do about candidates: keep ours that match, adopt orphans that match, release ours that do not."""

    keep: tuple[Object, ...]
    adopt: tuple[Object, ...]
    release: tuple[Object, ...]


class AdoptionRefused(Unfinished):
    """The owner is gone, replaced or being deleted; reconcile again once the cache knows."""


def claim(owner: ReadOnlyObject, selector: LabelSelector, candidates: Iterable[Object]) -> ClaimPlan:
    keep, adopt, release = [], [], []
    owner_uid, is_owner_leaving = uid_of(owner), is_being_deleted(owner)
    for child in candidates:
        reference = controller_of(child)
        matches = selector.matches(labels_of(child))
        if reference is not None:
            if reference.get("uid") != owner_uid:
                continue
            if matches:
                keep.append(child)
            elif not is_owner_leaving:
                release.append(child)
        elif (
            matches
            and not is_owner_leaving
            and not is_being_deleted(child)
            and namespace_of(child) == namespace_of(owner)
        ):
            adopt.append(child)
    return ClaimPlan(tuple(keep), tuple(adopt), tuple(release))


async def claim_children(
    api: Api,
    owner: ReadOnlyObject,
    owner_resource: Resource,
    selector: LabelSelector,
    candidates: Iterable[Object],
    child_resource: Resource,
    finalizer: str = "",
) -> list[Object]:
    """Carry out `claim`; returns the children that are the owner's now. `finalizer` comes and goes with ownership.

    Raises AdoptionRefused where there is something to adopt but the owner must not.
    """
    plan = claim(owner, selector, candidates)
    for child in plan.release:
        await release(api, owner, child, child_resource, finalizer)
    adopted = []
    if plan.adopt:
        await check_may_adopt(api, owner, owner_resource)
    for child in plan.adopt:
        now_ours = await adopt(api, owner, owner_resource, child, child_resource, finalizer)
        if now_ours is not None:
            adopted.append(now_ours)
    return [*plan.keep, *adopted]


async def check_may_adopt(api: Api, owner: ReadOnlyObject, owner_resource: Resource) -> None:
    """The uncached re-read."""
    subject = f"{owner_resource} {namespace_of(owner)}/{name_of(owner)}"
    try:
        fresh = await api.get(owner_resource, name_of(owner), namespace_of(owner))
    except NotFound as error:
        raise AdoptionRefused(f"{subject} is gone") from error
    if uid_of(fresh) != uid_of(owner):
        raise AdoptionRefused(f"original {subject} is gone: got uid {uid_of(fresh)}, wanted {uid_of(owner)}")
    if is_being_deleted(fresh):
        raise AdoptionRefused(f"{subject} has just been deleted at {fresh['metadata']['deletionTimestamp']}")


async def adopt(
    api: Api,
    owner: ReadOnlyObject,
    owner_resource: Resource,
    child: Object,
    child_resource: Resource,
    finalizer: str = "",
) -> Object | None:
    """Become the child's controller; None where the child is gone. The uid in the patch guards against a namesake."""
    reference = controller_reference(owner, owner_resource.api_version, owner_resource.kind)
    metadata: Object = {"ownerReferences": [reference], "uid": uid_of(child)}
    if finalizer:
        metadata["finalizers"] = [finalizer]
    try:
        return await _patch_metadata(api, child_resource, child, metadata)
    except NotFound:
        return None


async def release(
    api: Api, owner: ReadOnlyObject, child: Object, child_resource: Resource, finalizer: str = ""
) -> None:
    """Take the owner's reference off the child. A child that is gone, or another one by now, is released already."""
    dropped = {"$patch": "delete", "uid": uid_of(owner)}
    metadata: Object = {"ownerReferences": [dropped], "uid": uid_of(child)}
    if finalizer:
        metadata["$deleteFromPrimitiveList/finalizers"] = [finalizer]
    try:
        await _patch_metadata(api, child_resource, child, metadata)
    except (NotFound, Invalid):
        return


async def _patch_metadata(api: Api, resource: Resource, child: Object, metadata: Object) -> Object:
    """Strategic merge patches touch one list entry and no other; custom resources do not take them."""
    patch = {"metadata": metadata}
    try:
        return await api.patch(resource, name_of(child), patch, namespace_of(child), patch_type=STRATEGIC)
    except UnsupportedMediaType:
        patch = {"metadata": _as_merge_patch(child, metadata)}
        return await api.patch(resource, name_of(child), patch, namespace_of(child))


def _as_merge_patch(child: Object, strategic: Object) -> Object:
    """The same for a child whose lists are replaced as a whole: the version they were read at goes along."""
    merged: Object = {"uid": strategic["uid"], "resourceVersion": resource_version_of(child)}
    references = list(owner_references_of(child))
    for change in strategic["ownerReferences"]:
        references = [each for each in references if each.get("uid") != change["uid"]]
        if "$patch" not in change:
            references.append(change)
    merged["ownerReferences"] = references
    dropped = strategic.get("$deleteFromPrimitiveList/finalizers", ())
    added = strategic.get("finalizers", ())
    if dropped or added:
        kept = [each for each in finalizers_of(child) if each not in dropped and each not in added]
        merged["finalizers"] = [*kept, *added]
    return merged


class AlreadyOwned(ApiError):
    """Another owner controls the child: a name is taken, and only people can decide whose it is."""


def set_controller_reference(child: Object, owner: ReadOnlyObject, owner_resource: Resource) -> None:
    """Make `owner` the controller of `child`, which is edited: a new object, or a private copy.

    AlreadyOwned where another one is; ValueError where the garbage collector would not find the owner.
    """
    existing = controller_of(child)
    if existing is not None and existing.get("uid") != uid_of(owner):
        raise AlreadyOwned(f"{name_of(child)} is already controlled by {existing.get('kind')} {existing.get('name')}")
    _put_reference(child, owner, owner_resource, {"controller": True, "blockOwnerDeletion": True})


def set_owner_reference(
    child: Object, owner: ReadOnlyObject, owner_resource: Resource, *, blocks_deletion: bool = False
) -> None:
    """Make `owner` one of the owners of `child`, which is edited: it goes when the last of them has gone.

    `blocks_deletion`: a foreground deletion of the owner waits for the child. ValueError as above.
    """
    _put_reference(child, owner, owner_resource, {"blockOwnerDeletion": True} if blocks_deletion else {})


def remove_owner_reference(child: Object, owner: ReadOnlyObject) -> None:
    """Take the owner off `child`, which is edited, whatever the reference said beside its uid."""
    others = [reference for reference in owner_references_of(child) if reference.get("uid") != uid_of(owner)]
    if len(others) != len(owner_references_of(child)):
        child["metadata"]["ownerReferences"] = others


def _put_reference(child: Object, owner: ReadOnlyObject, owner_resource: Resource, flags: Object) -> None:
    """In its place where there is one already: an order that changes would be a write each time."""
    if owner_resource.namespaced and namespace_of(child) not in ("", namespace_of(owner)):
        raise ValueError(
            f"{name_of(child)} in namespace {namespace_of(child)} cannot be owned by {owner_resource.kind}"
            f" {name_of(owner)} in namespace {namespace_of(owner)}: owners are of the same namespace, or of none"
        )
    reference = {"apiVersion": owner_resource.api_version, "kind": owner_resource.kind, "name": name_of(owner)}
    reference |= {"uid": uid_of(owner), **flags}
    references = [reference if each.get("uid") == uid_of(owner) else each for each in owner_references_of(child)]
    if reference not in references:
        references.append(reference)
    child.setdefault("metadata", {})["ownerReferences"] = references
