"""Pod templates: what a workload makes its pods of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors, check_annotations, check_labels
from apiserver.resources.pods.annotations import check_pod_annotations, check_profiles_agree
from apiserver.resources.pods.pod_spec import check_pod_spec
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


def check_pod_template(template: Json, path: str, errors: Errors) -> None:
    metadata, spec = template.get("metadata") or NO_FIELDS, template.get("spec") or NO_FIELDS
    annotations = metadata.get("annotations") or NO_FIELDS
    check_labels(metadata.get("labels"), f"{path}.labels", errors)
    check_annotations(annotations, f"{path}.annotations", errors)
    check_pod_annotations(annotations, spec, f"{path}.annotations", errors)
    check_pod_spec(spec, metadata, False, f"{path}.spec", errors)
    if annotations:
        check_profiles_agree(annotations, spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        reason = "ephemeral containers not allowed in pod template"
        errors.append(field.forbidden(f"{path}.spec.ephemeralContainers", reason))


def drop_disabled_fields(spec: Object) -> None:
    """Fields behind feature gates that are off in v1.36 are not stored."""
    spec.pop("schedulingGroup", None)
