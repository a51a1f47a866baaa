"""The endpoint that adds ephemeral containers to a running pod, and changes nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.comparison import same
from apiserver.resources.internal_types import internal_diff
from apiserver.resources.pods.annotations import check_annotation_changes
from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION

if TYPE_CHECKING:
    from apiserver.resources.pods.pod import PodStrategy


class Rules:
    """`UpdateRules` of /ephemeralcontainers."""

    def __init__(self, strategy: PodStrategy) -> None:
        self._strategy = strategy

    def prepare(self, new: Object, old: Object) -> None:
        added = new["spec"].get("ephemeralContainers")
        new["metadata"] = keep_metadata(new, old)
        new["spec"] = {k: v for k, v in old["spec"].items() if k != "ephemeralContainers"}
        if added:
            new["spec"]["ephemeralContainers"] = added
        self._strategy.prepare_for_update(new, old)

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]:
        from apiserver.resources.pods.pod import check_pod

        if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or NO_FIELDS):
            return [field.forbidden("", "static pods do not support ephemeral containers")]
        errors: Errors = []
        check_pod(new, errors)
        check_annotation_changes(new, old, errors)
        _check_kept(new, old, errors)
        return errors


def keep_metadata(new: Object, old: Object) -> Object:
    """The old metadata but for the version and managed fields, which every write has (ResetObjectMetaForStatus)."""
    kept = dict(old["metadata"])
    for name in ("resourceVersion", "managedFields"):
        if name in new["metadata"]:
            kept[name] = new["metadata"][name]
    return kept


def _check_kept(new: Object, old: Object, errors: Errors) -> None:
    path = "spec.ephemeralContainers"
    now = {container.get("name"): container for container in new["spec"].get("ephemeralContainers") or NO_ITEMS}
    for container in old["spec"].get("ephemeralContainers") or NO_ITEMS:
        name = field.go_value(container.get("name", ""))
        if container.get("name") not in now:
            errors.append(field.forbidden(path, f"existing ephemeral containers {name} may not be removed\n"))
        elif not same(now[container["name"]], container):
            changes = internal_diff("EphemeralContainer", container, now[container["name"]])
            errors.append(field.forbidden(path, f"existing ephemeral containers {name} may not be changed\n{changes}"))
