"""Which ControllerRevision is the present template's, and which are kept no longer. Pure.

constructHistory and cleanupHistory of pkg/controller/daemon/update.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from controllers import history
from controllers.daemon_set.model import DaemonSpec
from controllers.daemon_set.pod import HASH_LABEL
from kubeloop.apimachinery.hashing import pod_template_hash
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of
from kubeloop.apimachinery.resource import DAEMON_SETS


@dataclass(frozen=True, slots=True)
class Found:
    """`current`: the present template's, None where it is to be created, with the number it ought at least to have.

    `duplicates` say the same and came to be by adoption; `old`: all others, the oldest first.
    """

    current: Object | None
    number: int
    duplicates: tuple[Object, ...]
    old: tuple[Object, ...]


def find(template: ReadOnlyObject, revisions: Sequence[Object]) -> Found:
    """`revisions`: in order. Going back to an earlier template makes its revision the newest."""
    equal = [revision for revision in revisions if history.says(revision, template)]
    old = [revision for revision in revisions if not history.says(revision, template)]
    number = max(map(history.number_of, old), default=0) + 1
    return Found(equal[-1] if equal else None, number, tuple(equal[:-1]), tuple(old))


def hash_of(revision: ReadOnlyObject) -> str:
    return labels_of(revision).get(HASH_LABEL, "")


def fresh(spec: DaemonSpec, number: int) -> Object:
    """The revision to create; each collision count gives it another name."""
    suffix = pod_template_hash(spec.obj["spec"]["template"], spec.status.get("collisionCount"))
    return history.new_revision(spec.obj, DAEMON_SETS, suffix, number, {HASH_LABEL: suffix})


def surplus(spec: DaemonSpec, old: Sequence[Object], live: Collection[str]) -> list[Object]:
    """The oldest that no pod has, as many as there are beyond the limit; `live`: the hashes that pods have."""
    limit = spec.obj["spec"].get("revisionHistoryLimit")
    unused = [revision for revision in old if hash_of(revision) not in live]
    return [] if limit is None else unused[: max(len(old) - limit, 0)]
