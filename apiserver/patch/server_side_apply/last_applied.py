"""kubectl's last-applied annotation, which lets `kubectl apply --server-side` take over from client-side apply."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.patch.server_side_apply.checking import problems_text
from apiserver.patch.server_side_apply.comparison import compare
from apiserver.patch.server_side_apply.conflicts import ApplyConflict
from apiserver.patch.server_side_apply.field_sets import FieldSet, difference
from apiserver.patch.server_side_apply.ownership import stated
from apiserver.patch.server_side_apply.path_elements import ESCAPED
from apiserver.patch.server_side_apply.shapes import Shape
from kubeloop.apimachinery.metadata_validation import annotations_errors

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"  # the one manager to which any of this applies

Object = dict[str, Any]


def conflict_beyond(conflict: ApplyConflict, live: Object, shape: Shape, api_version: str) -> ApplyConflict | None:
    """What of a conflict is about more than fields that client-side apply set and nobody changed since.

    None where nothing is: then the apply may be forced.
    """
    allowed = _applied_and_unchanged(live, shape, api_version)
    if allowed is None:
        return conflict
    kept = {who: difference(entry.fields, allowed) for who, entry in conflict.owners.items()}
    return conflict.with_fields(kept) if any(kept.values()) else None


def _applied_and_unchanged(live: Object, shape: Shape, api_version: str) -> FieldSet | None:
    """The paths of the annotation's configuration that still have its values; None where there is none to read."""
    try:
        applied = orjson.loads(_annotations(live).get(ANNOTATION) or "")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(applied, dict) or applied.get("apiVersion") != api_version or problems_text(shape, applied):
        return None
    found = compare(shape, applied, live)
    return difference(difference(stated(shape, applied), found.changed), found.removed)


def kept_up_to_date(obj: Object, config: Object) -> Object:
    """`obj` with the annotation, where it has one, saying what was applied now; without it where that is too long."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    updated = {**annotations, ANNOTATION: _without_annotation(config)}
    if annotations_errors(updated, ""):
        del updated[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": updated}}


def _without_annotation(config: Object) -> str:
    metadata = config.get("metadata") or {}
    if isinstance(annotations := metadata.get("annotations"), dict):
        metadata = {**metadata, "annotations": {k: v for k, v in annotations.items() if k != ANNOTATION}}
    shown = {**config, "metadata": metadata}
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode().translate(ESCAPED) + "\n"


def _annotations(obj: Object) -> Object:
    annotations = (obj.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}
