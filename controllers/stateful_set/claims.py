"""The claims of a StatefulSet's pod, and whom they belong to under the retention policy. Pure.

    when scaled  when deleted   owner
    Retain       Retain         nobody
    Retain       Delete         the set
    Delete       Retain         the pod, once it is to be scaled away
    Delete       Delete         the set; the pod, once it is to be scaled away

A claim whose owner is a namesake of ours (of an earlier life) is left alone: the garbage collector has it in hand.
pkg/controller/statefulset/stateful_set_utils.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers.stateful_set.identity import claim_name, ordinal_of
from controllers.stateful_set.model import SetSpec
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    controller_reference,
    is_being_deleted,
    labels_of,
    name_of,
    owner_references_of,
    uid_of,
)
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS, Resource

Claims = Mapping[str, Object]  # those of the set's namespace that exist, by name


@dataclass(frozen=True, slots=True)
class ClaimWork:
    """What a pod's claims need. `leaving`: being deleted, so that the pod must wait; `conflicting`: others' own."""

    missing: tuple[Object, ...] = ()
    leaving: tuple[str, ...] = ()
    mended: tuple[Object, ...] = ()
    conflicting: tuple[str, ...] = ()

    def owners_only(self) -> ClaimWork:
        return ClaimWork(mended=self.mended, conflicting=self.conflicting)


NO_WORK = ClaimWork()


def wanted(spec: SetSpec, ordinal: int) -> list[Object]:
    """The claims as they are created; of two templates of one name the later counts."""
    chosen = {name_of(template): template for template in spec.claim_templates}
    selected = (spec.obj["spec"].get("selector") or {}).get("matchLabels") or {}
    found = []
    for template in chosen.values():
        described = {k: v for k, v in template["metadata"].items() if k != "creationTimestamp"}
        described |= {"name": claim_name(spec, template, ordinal), "namespace": spec.namespace}
        described["labels"] = {**labels_of(template), **selected}
        kind = {"apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version, "kind": PERSISTENT_VOLUME_CLAIMS.kind}
        found.append({**kind, "metadata": described, "spec": template["spec"]})
    return found


def names(spec: SetSpec, ordinal: int) -> list[str]:
    return [claim_name(spec, template, ordinal) for template in spec.claim_templates]


def work(spec: SetSpec, pod: ReadOnlyObject, claims: Claims) -> ClaimWork:
    """Everything that the claims of this pod need."""
    expected = wanted(spec, ordinal_of(pod))
    present = [claims[name_of(claim)] for claim in expected if name_of(claim) in claims]
    return ClaimWork(
        tuple(claim for claim in expected if name_of(claim) not in claims),
        tuple(name_of(claim) for claim in present if is_being_deleted(claim)),
        tuple(_mended(spec, claim, pod) for claim in present if not has_right_owner(spec, claim, pod)),
        tuple(name_of(claim) for claim in present if _has_other_controller(spec, claim, pod)),
    )


def have_right_owners(spec: SetSpec, pod: ReadOnlyObject, claims: Claims) -> bool:
    """Whether nothing is to be mended; claims that do not exist do not count."""
    found = (claims.get(name) for name in names(spec, ordinal_of(pod)))
    return all(has_right_owner(spec, claim, pod) for claim in found if claim is not None)


def are_stale(spec: SetSpec, pod: ReadOnlyObject, claims: Claims) -> bool:
    """Whether a claim still belongs to an earlier pod of that name and is about to go, which the new one must await."""
    if not spec.deletes_when_scaled:
        return False
    found = (claims.get(name) for name in names(spec, ordinal_of(pod)))
    return any(_is_of_namesake(claim, pod, PODS) for claim in found if claim is not None)


def has_right_owner(spec: SetSpec, claim: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    if _is_of_namesake(claim, spec.obj, STATEFUL_SETS) or _is_of_namesake(claim, pod, PODS):
        return True
    is_sets, is_pods = _is_owned_by(claim, spec.obj), _is_owned_by(claim, pod)
    if _has_other_controller(spec, claim, pod):
        return not is_sets and not is_pods
    if any(not ref.get("controller") and ref.get("uid") in (uid_of(spec.obj), uid_of(pod)) for ref in _owners(claim)):
        return False
    return (is_sets, is_pods) == _right_owners(spec, pod)


def _mended(spec: SetSpec, claim: Object, pod: ReadOnlyObject) -> Object:
    """The claim with our references taken off and, unless it has another controller, the right one put on."""
    kept = [ref for ref in _owners(claim) if not _names(ref, spec.obj, STATEFUL_SETS) and not _names(ref, pod, PODS)]
    if not _has_other_controller(spec, claim, pod):
        is_sets, is_pods = _right_owners(spec, pod)
        if is_sets:
            kept.append(controller_reference(spec.obj, STATEFUL_SETS.api_version, STATEFUL_SETS.kind))
        if is_pods:
            kept.append(controller_reference(pod, PODS.api_version, PODS.kind))
    return {**claim, "metadata": {**claim["metadata"], "ownerReferences": kept}}


def _right_owners(spec: SetSpec, pod: ReadOnlyObject) -> tuple[bool, bool]:
    """Whether the set, and whether the pod, ought to own the claim."""
    is_scaled_away = ordinal_of(pod) not in spec.ordinals
    if not spec.deletes_when_scaled:
        return spec.deletes_with_set, False
    return spec.deletes_with_set and not is_scaled_away, is_scaled_away


def _has_other_controller(spec: SetSpec, claim: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Where nothing is ever deleted it does not matter who else controls the claim."""
    if not spec.deletes_when_scaled and not spec.deletes_with_set:
        return False
    for reference in _owners(claim):
        for owner, resource in ((spec.obj, STATEFUL_SETS), (pod, PODS)):
            if _names(reference, owner, resource):
                if reference.get("uid") != uid_of(owner):
                    return True
                break
        else:
            if reference.get("controller"):
                return True
    return False


def _is_of_namesake(claim: ReadOnlyObject, owner: ReadOnlyObject, resource: Resource) -> bool:
    reference = next((ref for ref in _owners(claim) if _names(ref, owner, resource)), None)
    return reference is not None and reference.get("uid") != uid_of(owner)


def _is_owned_by(claim: ReadOnlyObject, owner: ReadOnlyObject) -> bool:
    return any(ref.get("uid") == uid_of(owner) for ref in _owners(claim))


def _names(reference: ReadOnlyObject, owner: ReadOnlyObject, resource: Resource) -> bool:
    called = (reference.get("apiVersion"), reference.get("kind"), reference.get("name"))
    return called == (resource.api_version, resource.kind, name_of(owner))


def _owners(claim: ReadOnlyObject) -> Sequence[Mapping[str, object]]:
    return owner_references_of(claim)
