"""Going back to an earlier revision because an annotation of old asks for it (it was a field once). Pure.

`kubectl rollout undo` writes the earlier template itself. pkg/controller/deployment/rollback.go, v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from controllers.deployment import revisions
from controllers.deployment.model import Rollout, SetState
from kubeloop.apimachinery.meta import Object, annotations_of, is_being_deleted, name_of

ANNOTATION = "deprecated.deployment.rollback.to"

_is_number = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Rollback:
    """The Deployment as it is to be written, in any case without the annotation, and the event that tells of it."""

    deployment: Object
    event_type: str
    reason: str
    message: str


def plan(rollout: Rollout, sets: Sequence[SetState]) -> Rollback | None:
    """None where nobody asks for it, or it must wait: a paused Deployment goes back once it is resumed."""
    asked = annotations_of(rollout.obj).get(ANNOTATION, "")
    if not _is_number(asked) or rollout.is_paused or is_being_deleted(rollout.obj):
        return None
    wanted = int(asked) or _last_but_one(sets)
    if wanted == 0:
        return _refused(rollout, "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
    found = next((replica_set for replica_set in sets if revisions.revision_of(replica_set) == wanted), None)
    if found is None:
        message = "Unable to find the revision to rollback to."
        return _refused(rollout, "DeploymentRollbackRevisionNotFound", message)
    template = found.obj["spec"]["template"]
    if revisions.is_same_template(template, rollout.spec["template"]):
        message = f'The rollback revision contains the same template as current deployment "{name_of(rollout.obj)}"'
        return _refused(rollout, "DeploymentRollbackTemplateUnchanged", message)
    message = f'Rolled back deployment "{name_of(rollout.obj)}" to revision {wanted}'
    return Rollback(_with_template_of(rollout, found), "Normal", "DeploymentRollback", message)


def _last_but_one(sets: Sequence[SetState]) -> int:
    numbers = sorted((revisions.revision_of(replica_set) or 0 for replica_set in sets), reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def _refused(rollout: Rollout, reason: str, message: str) -> Rollback:
    return Rollback(_with_annotations(rollout, dict(annotations_of(rollout.obj))), "Warning", reason, message)


def _with_template_of(rollout: Rollout, replica_set: SetState) -> Object:
    """Its template, and the annotations that the Deployment had then: among them why it was changed."""
    own = {k: v for k, v in annotations_of(rollout.obj).items() if k in revisions.NOT_COPIED}
    then = {k: v for k, v in replica_set.annotations.items() if k not in revisions.NOT_COPIED}
    changed = _with_annotations(rollout, own | then)
    template = revisions.without_hash(replica_set.obj["spec"]["template"])
    return {**changed, "spec": {**rollout.spec, "template": template}}


def _with_annotations(rollout: Rollout, annotations: dict[str, str]) -> Object:
    annotations.pop(ANNOTATION, None)
    return {**rollout.obj, "metadata": {**rollout.obj["metadata"], "annotations": annotations}}
