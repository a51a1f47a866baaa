"""Which ReplicaSet is the new one, and what its annotations record: revision, earlier revisions, sizes. Pure.

getNewReplicaSet of pkg/controller/deployment/sync.go and deployment_util.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllers.deployment.model import Rollout, SetState, copy_with
from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.hashing import pod_template_hash
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    annotations_of,
    controller_reference,
    name_of,
    namespace_of,
)

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
HASH_LABEL = "pod-template-hash"

# A Deployment's annotations that its ReplicaSets do not get.
NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
_HISTORY_CHARACTERS = 2000
_MAX_NAME = 253
_QUANTITY_MAPS = frozenset({"requests", "limits", "overhead"})
_QUANTITIES = frozenset({"sizeLimit", "divisor"})


def split(rollout: Rollout, sets: Sequence[SetState]) -> tuple[SetState | None, list[SetState]]:
    """The ReplicaSet of the present template (of several the oldest), and all others, oldest first."""
    oldest_first = sorted(sets, key=lambda replica_set: replica_set.age)
    template = rollout.spec["template"]
    new = next((found for found in oldest_first if is_same_template(found.obj["spec"]["template"], template)), None)
    return new, [replica_set for replica_set in oldest_first if replica_set is not new]


def is_same_template(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Whether two pod templates mean the same, whatever their pod-template-hash."""
    return _is_same(without_hash(one), without_hash(other), "")


def revision_of(replica_set: SetState) -> int | None:
    """Its revision; None where the annotation is no number."""
    text = replica_set.annotations.get(REVISION)
    if text is None:
        return 0
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else None


def next_revision(old: Sequence[SetState]) -> int:
    return max((revision_of(replica_set) or 0 for replica_set in old), default=0) + 1


def updated(rollout: Rollout, new: SetState, old: Sequence[SetState]) -> SetState:
    """The new ReplicaSet with its annotations and minReadySeconds as they should be (itself where they are)."""
    annotations = _annotations(rollout, new.annotations, next_revision(old))
    min_ready_seconds = new.obj["spec"].get("minReadySeconds") or 0
    if annotations == new.annotations and min_ready_seconds == rollout.min_ready_seconds:
        return new
    changed = copy_with(new.obj, annotations=annotations, minReadySeconds=rollout.min_ready_seconds)
    return SetState(changed, new.replicas)


def fresh(rollout: Rollout, replicas: int, old: Sequence[SetState]) -> SetState:
    """The ReplicaSet to create for the present template. Its name follows from the template, so a repeat collides."""
    spec = rollout.spec
    template_hash = pod_template_hash(spec["template"], rollout.status.get("collisionCount"))
    template = _labelled(spec["template"], template_hash)
    selector = spec["selector"]
    labels = {**(selector.get("matchLabels") or {}), HASH_LABEL: template_hash}
    annotations = _annotations(rollout, {}, next_revision(old)) | replicas_annotations(rollout)
    obj: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": set_name(name_of(rollout.obj), template_hash),
            "namespace": namespace_of(rollout.obj),
            "labels": dict(template["metadata"]["labels"]),
            "annotations": annotations,
            "ownerReferences": [controller_reference(rollout.obj, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": rollout.min_ready_seconds,
            "selector": {**selector, "matchLabels": labels},
            "template": template,
        },
    }
    return SetState(obj, replicas)


def set_name(deployment: str, template_hash: str) -> str:
    """`<deployment>-<hash>`, the Deployment's part cut where the whole would be too long for a name."""
    return f"{deployment[: _MAX_NAME - 1 - len(template_hash)]}-{template_hash}"


def replicas_annotations(rollout: Rollout) -> dict[str, str]:
    """What a ReplicaSet notes of the Deployment's size whenever it is scaled."""
    return {DESIRED_REPLICAS: str(rollout.replicas), MAX_REPLICAS: str(rollout.max_replicas)}


def _annotations(rollout: Rollout, present: Mapping[str, str], revision: int) -> dict[str, str]:
    """The Deployment's own annotations over the present ones, and the revision raised (never lowered)."""
    copied = {k: v for k, v in annotations_of(rollout.obj).items() if k not in NOT_COPIED}
    before = present.get(REVISION, "")
    if before and not before.removeprefix("-").isdigit():
        return dict(present)
    annotations = {**present, **copied}
    if int(before or 0) < revision:
        annotations[REVISION] = str(revision)
        if before:
            annotations |= _history(present.get(REVISION_HISTORY, ""), before)
    return annotations


def _history(history: str, revision: str) -> dict[str, str]:
    """The revision it had before, appended; the oldest are dropped where the list gets too long."""
    revisions = [*history.split(","), revision] if history else [revision]
    while len(",".join(revisions)) > _HISTORY_CHARACTERS and len(revisions) > 1:
        revisions.pop(0)
    return {REVISION_HISTORY: ",".join(revisions)}


def _labelled(template: Mapping[str, Any], template_hash: str) -> dict[str, Any]:
    described = template.get("metadata") or {}
    labels = {**(described.get("labels") or {}), HASH_LABEL: template_hash}
    return {**template, "metadata": {**described, "labels": labels}}


def without_hash(template: ReadOnlyObject) -> Object:
    """A ReplicaSet's template as its Deployment has it."""
    described = template.get("metadata") or {}
    labels = {k: v for k, v in (described.get("labels") or {}).items() if k != HASH_LABEL}
    return {**template, "metadata": {**described, "labels": labels}}


def _is_same(one: Any, other: Any, field: str) -> bool:
    """Equality of two stored values, quantities being compared as numbers ("1000m" is "1")."""
    if one == other:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        of_quantities = field in _QUANTITY_MAPS
        return one.keys() == other.keys() and all(
            _is_same(one[k], other[k], "sizeLimit" if of_quantities else k) for k in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_is_same(a, b, field) for a, b in zip(one, other, strict=True))
    return field in _QUANTITIES and quantity.is_equal(one, other)
