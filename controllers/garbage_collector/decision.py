"""What to do about an object, given what became of its owners. Pure.

attemptToDeleteItem of pkg/controller/garbagecollector, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controllers.garbage_collector.identity import FOREGROUND, ORPHAN, Reference
from kubeloop.apimachinery.meta import ReadOnlyObject, finalizers_of, is_being_deleted


@dataclass(frozen=True, slots=True)
class Owners:
    """References to owners that are there, that are not, and that wait for their dependents to go."""

    solid: tuple[Reference, ...] = ()
    dangling: tuple[Reference, ...] = ()
    waiting: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    """An owner is there. References to the others (uids) are dropped."""

    drop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """Nobody owns it any more. `unblock`: its references must first stop blocking its owners, or a cycle would wait
    for itself for ever."""

    policy: str
    unblock: bool = False


def classify(references: Iterable[tuple[Reference, ReadOnlyObject | None]]) -> Owners:
    """Each reference with the live owner it means, None where there is none."""
    solid, dangling, waiting = [], [], []
    for reference, owner in references:
        if owner is None:
            dangling.append(reference)
        elif is_being_deleted(owner) and FOREGROUND in finalizers_of(owner):
            waiting.append(reference)
        else:
            solid.append(reference)
    return Owners(tuple(solid), tuple(dangling), tuple(waiting))


def decide(obj: ReadOnlyObject, owners: Owners, dependents: Sequence[bool]) -> Keep | Delete:
    """`dependents`: of each dependent of the object, whether it is itself waiting for its dependents to go."""
    if owners.solid:
        return Keep(tuple(ref["uid"] for ref in (*owners.dangling, *owners.waiting)))
    if owners.waiting and dependents:
        return Delete("Foreground", unblock=any(dependents))
    finalizers = finalizers_of(obj)
    if ORPHAN in finalizers:
        return Delete("Orphan")
    if FOREGROUND in finalizers:
        return Delete("Foreground")
    return Delete("Background")
