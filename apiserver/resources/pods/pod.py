"""The Pod kind: how pods come in, what may change about them, and the endpoints they have beside the main one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.registry.strategy import UpdateRules
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.kinds import SpecKind
from apiserver.resources.pods import apparmor, ephemeral_containers, pod_status, pod_update, resize
from apiserver.resources.pods.affinity import merge_label_keys
from apiserver.resources.pods.annotations import check_pod_annotations, check_profiles_agree
from apiserver.resources.pods.containers import check_image_spelling
from apiserver.resources.pods.defaults import default_pod, default_pod_status
from apiserver.resources.pods.passed import Passed, text_of
from apiserver.resources.pods.pod_resources import qos_class
from apiserver.resources.pods.pod_spec import check_pod_spec
from apiserver.resources.pods.pod_template import drop_disabled_fields
from apiserver.resources.pods.warnings import name_warnings, spec_warnings
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.meta import Object

SELECTABLE = frozenset(
    {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    }
)
OLD_FIELD_NAMES = {"spec.host": "spec.nodeName"}
GATED_CONDITION: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodStrategy(SpecKind):
    """Pods. A deletion waits for the kubelet of a node that runs the pod."""

    rechecks_object = True
    graceful_deletion = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        default_pod(obj)

    def default_status(self, obj: Object) -> None:
        default_pod_status(obj)

    def preparation_warnings(self, obj: Object) -> Sequence[str]:
        annotations = obj["metadata"].get("annotations")
        return apparmor.annotation_warnings(obj["spec"], annotations) if annotations else ()

    def prepare_for_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        spec = obj["spec"]
        drop_disabled_fields(spec)
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            since = obj["metadata"].get("creationTimestamp")
            obj["status"]["conditions"] = [{**GATED_CONDITION, "lastTransitionTime": since}]
        if "affinity" in spec or "topologySpreadConstraints" in spec:
            merge_label_keys(spec, obj["metadata"].get("labels") or NO_FIELDS)
        if annotations := obj["metadata"].get("annotations"):
            apparmor.apply_annotations(spec, annotations)

    def __init__(self) -> None:
        self._sound, self._quiet = Passed(), Passed()

    def check(self, obj: Object, errors: Errors) -> None:
        text = text_of(obj)
        if text in self._sound:
            return
        self._check_new(obj, errors)
        if not errors:
            self._sound.add(text)

    def _check_new(self, obj: Object, errors: Errors) -> None:
        check_pod(obj, errors)
        spec = obj["spec"]
        if spec.get("ephemeralContainers"):
            errors.append(field.forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            reason = "cannot be set until all schedulingGates have been cleared"
            errors.append(field.forbidden("spec.nodeName", reason))
        if annotations := obj["metadata"].get("annotations"):
            check_profiles_agree(annotations, spec, "spec", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        drop_disabled_fields(new["spec"])
        super().prepare_for_update(new, old)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_pod(new, errors)
        pod_update.check_pod_update(new, old, errors)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        pod_status.prepare(new, old)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        pod_status.check_pod_status_update(new, old, errors)

    def update_rules(self, subresource: str) -> UpdateRules:
        if subresource == "ephemeralcontainers":
            return ephemeral_containers.Rules(self)
        if subresource == "resize":
            return resize.Rules(self)
        return super().update_rules(subresource)

    def deletion_grace_seconds(self, obj: Object, requested: int | None) -> int:
        """At once where no kubelet is involved any more, or not yet."""
        spec = obj.get("spec") or NO_FIELDS
        if not spec.get("nodeName") or (obj.get("status") or NO_FIELDS).get("phase") in ("Failed", "Succeeded"):
            return 0
        seconds = requested if requested is not None else spec.get("terminationGracePeriodSeconds", 0)
        return 1 if seconds < 0 else int(seconds)

    def warnings(self, obj: Object) -> Sequence[str]:
        text = text_of(obj)
        if text in self._quiet:
            return name_warnings(obj)
        warnings = spec_warnings(obj)
        if not warnings:
            self._quiet.add(text)
        return [*name_warnings(obj), *warnings]

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Pods are updated often, and seldom by people: only of addresses in the status."""
        status = new.get("status") or NO_FIELDS
        if subresource != "status" or not status:
            return ()
        return [
            warning
            for name in ("podIPs", "hostIPs")
            for i, each in enumerate(status.get(name) or NO_ITEMS)
            for warning in addresses.ip_warnings(each.get("ip", ""), f"status.{name}[{i}].ip")
        ]

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        spec, status = obj.get("spec") or NO_FIELDS, obj.get("status") or NO_FIELDS
        ips = status.get("podIPs") or NO_ITEMS
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": ips[0].get("ip", "") if ips else "",
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return SELECTABLE

    @property
    def old_field_names(self) -> Mapping[str, str]:
        return OLD_FIELD_NAMES


def check_pod(pod: Object, errors: Errors) -> None:
    """What is asked of a pod on every write that may touch its spec."""
    metadata, spec = pod["metadata"], pod.get("spec") or NO_FIELDS
    if annotations := metadata.get("annotations"):
        check_pod_annotations(annotations, spec, "metadata.annotations", errors)
    check_pod_spec(spec, metadata, True, "spec", errors)
    if not spec.get("serviceAccountName"):
        _check_no_tokens(spec, errors)
    for list_name in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(list_name) or NO_ITEMS):
            check_image_spelling(container, f"spec.{list_name}[{i}]", errors)


def _check_no_tokens(spec: Mapping[str, Any], errors: Errors) -> None:
    for i, volume in enumerate(spec.get("volumes") or NO_ITEMS):
        for j, source in enumerate((volume.get("projected") or NO_FIELDS).get("sources") or NO_ITEMS):
            if "serviceAccountToken" in source:
                at = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                reason = "must not be specified when serviceAccountName is not set"
                errors.append(field.forbidden(at, reason))


POD = PodStrategy()
