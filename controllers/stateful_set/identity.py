"""What tells the pods of a StatefulSet apart: ordinal, name, labels, hostname and volumes. Pure.

pkg/controller/statefulset/stateful_set_utils.go, v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from controllers.pod_control import pod_from_template
from controllers.stateful_set.model import Revisions, SetSpec
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of, name_of, namespace_of
from kubeloop.apimachinery.resource import STATEFUL_SETS

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"

_numbered_name = re.compile(r"(.*)-([0-9]+)", re.DOTALL).fullmatch
_MAX_ORDINAL = 2**31 - 1


def ordinal_of(pod: ReadOnlyObject) -> int:
    """The number at the end of its name; -1 where there is none that fits."""
    match = _numbered_name(name_of(pod))
    ordinal = int(match[2]) if match else -1
    return ordinal if ordinal <= _MAX_ORDINAL else -1


def is_member(spec: SetSpec, pod: ReadOnlyObject) -> bool:
    """Whether the name says that the pod is one of the set's."""
    match = _numbered_name(name_of(pod))
    return match is not None and match[1] == spec.name


def revision_of(pod: ReadOnlyObject) -> str:
    return labels_of(pod).get(REVISION_LABEL, "")


def pod_name(spec: SetSpec, ordinal: int) -> str:
    return f"{spec.name}-{ordinal}"


def claim_name(spec: SetSpec, template: ReadOnlyObject, ordinal: int) -> str:
    return f"{name_of(template)}-{spec.name}-{ordinal}"


def new_pod(spec: SetSpec, revisions: Revisions, ordinal: int) -> Object:
    """The pod to create for an ordinal, of whichever of the two templates it should have."""
    is_old = _keeps_current(spec, ordinal)
    template = revisions.current_template if is_old else revisions.update_template
    pod = pod_from_template(template, spec.obj, STATEFUL_SETS)
    name = pod_name(spec, ordinal)
    labels = {**labels_of(pod), REVISION_LABEL: revisions.current_name if is_old else revisions.update_name}
    pod["metadata"] = {**pod["metadata"], "name": name, "labels": labels}
    pod["spec"] = {**pod["spec"], "hostname": name, "subdomain": spec.obj["spec"].get("serviceName") or ""}
    return with_identity(spec, pod)


def has_identity(spec: SetSpec, pod: ReadOnlyObject) -> bool:
    """Whether name, namespace, name label and claims' volumes are as they should be."""
    ordinal = ordinal_of(pod)
    return (
        ordinal >= 0
        and name_of(pod) == pod_name(spec, ordinal) == labels_of(pod).get(NAME_LABEL)
        and namespace_of(pod) == spec.namespace
        and has_storage(spec, pod)
    )


def has_storage(spec: SetSpec, pod: ReadOnlyObject) -> bool:
    """Whether each claim template has its volume, which uses the claim of this ordinal."""
    used = {
        volume.get("name"): (volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in _volumes(pod)
    }
    ordinal = ordinal_of(pod)
    return all(used.get(name_of(t)) == claim_name(spec, t, ordinal) for t in spec.claim_templates)


def with_identity(spec: SetSpec, pod: ReadOnlyObject) -> Object:
    """The pod with labels and volumes put right; volumes of other origin give way to the claims'."""
    ordinal = ordinal_of(pod)
    labels = {**labels_of(pod), NAME_LABEL: pod_name(spec, ordinal), INDEX_LABEL: str(ordinal)}
    changed = {**pod, "metadata": {**pod["metadata"], "labels": labels}}
    if has_storage(spec, pod):
        return changed
    claims = {name_of(template): claim_name(spec, template, ordinal) for template in spec.claim_templates}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    volumes += [volume for volume in _volumes(pod) if volume.get("name") not in claims]
    return {**changed, "spec": {**pod["spec"], "volumes": volumes}}


def _keeps_current(spec: SetSpec, ordinal: int) -> bool:
    """Below the partition pods keep the old template; without one, as many as still have it."""
    if spec.partition is not None:
        return ordinal < spec.start + spec.partition
    return spec.is_rolling and ordinal < spec.start + (spec.status.get("currentReplicas") or 0)


def _volumes(pod: ReadOnlyObject) -> Sequence[Object]:
    return pod["spec"].get("volumes") or []
