"""Which ControllerRevision is the present template's, and which are kept no longer. Pure.

getStatefulSetRevisions and truncateHistory of pkg/controller/statefulset, v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from controllers import history
from controllers.stateful_set.model import SetSpec
from kubeloop.apimachinery.hashing import controller_revision_hash
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of
from kubeloop.apimachinery.resource import STATEFUL_SETS

HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(frozen=True, slots=True)
class Found:
    """The revision of the present template, None where it is to be created; and the number it ought to have."""

    revision: Object | None
    number: int

    @property
    def is_as_it_should_be(self) -> bool:
        return self.revision is not None and history.number_of(self.revision) == self.number


def find(template: ReadOnlyObject, revisions: Sequence[Object]) -> Found:
    """`revisions`: in order. Going back to an earlier template makes its revision the newest."""
    equal = [revision for revision in revisions if history.says(revision, template)]
    newest = history.number_of(revisions[-1]) if revisions else 0
    if equal and equal[-1] is revisions[-1]:
        return Found(equal[-1], newest)
    return Found(equal[-1] if equal else None, newest + 1)


def fresh(spec: SetSpec, number: int, collision_count: int) -> Object:
    """The revision to create; each collision count gives it another name."""
    suffix = controller_revision_hash(history.data_of(spec.obj["spec"]["template"]), collision_count)
    return history.new_revision(spec.obj, STATEFUL_SETS, suffix, number, {HASH_LABEL: suffix})


def surplus(spec: SetSpec, revisions: Sequence[Object], live: Collection[str]) -> list[Object]:
    """The oldest that no pod has and that are beyond the limit; `live`: names that are in use."""
    limit = spec.obj["spec"].get("revisionHistoryLimit")
    unused = [revision for revision in revisions if name_of(revision) not in live]
    if limit is None or limit < 0:
        return []
    return unused[: max(len(unused) - limit, 0)]
