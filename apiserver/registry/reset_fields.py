"""Which fields of an object nobody comes to own on an endpoint, because its rules reset them (GetResetFields).

`field_management.py` asks. The general rule holds for every kind with a status; the tables say where kinds differ
(pkg/registry/*/strategy.go, v1.36).
"""

from __future__ import annotations

from apiserver.patch.server_side_apply.field_sets import MEMBER, FieldSet
from apiserver.patch.server_side_apply.filters import ANY_STEP, EVERYTHING, Exclude, Include
from apiserver.patch.server_side_apply.tracking import Filter
from apiserver.registry.catalog import Kind

_STATUS: FieldSet = {"f:status": MEMBER}
_SPEC: FieldSet = {"f:spec": MEMBER}
_SPEC_AND_METADATA: FieldSet = {"f:metadata": MEMBER, "f:spec": MEMBER}

# Kinds whose status endpoint changes no metadata either; custom kinds' do not.
_STATUS_WITHOUT_METADATA = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "podgroups.scheduling.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "resourceclaims.resource.k8s.io",
        "servicecidrs.networking.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
        "storageversions.internal.apiserver.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)

_SIGNING_REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_RESIZED = dict.fromkeys(("f:resources", "f:resizePolicy"))

_OWN_RULES: dict[tuple[str, str], Filter] = {
    ("deployments.apps", "status"): Exclude({"f:metadata": {"f:labels": MEMBER}, "f:spec": MEMBER}),
    ("namespaces", "finalize"): Exclude(_STATUS),
    ("pods", "status"): Exclude(
        {"f:metadata": {"f:deletionTimestamp": MEMBER, "f:ownerReferences": MEMBER}, "f:spec": MEMBER}
    ),
    ("pods", "ephemeralcontainers"): Include({"f:spec": {"f:ephemeralContainers": None}}),
    ("pods", "resize"): Include(
        {"f:spec": {"f:containers": {ANY_STEP: _RESIZED}, "f:initContainers": {ANY_STEP: _RESIZED}}}
    ),
    (_SIGNING_REQUESTS, ""): Exclude({"f:spec": MEMBER, "f:status": MEMBER}),
    (_SIGNING_REQUESTS, "status"): Exclude({"f:spec": MEMBER, "f:status": {"f:conditions": MEMBER}}),
    (_SIGNING_REQUESTS, "approval"): Exclude({"f:spec": MEMBER, "f:status": {"f:certificate": MEMBER}}),
}


def filter_of(kind: Kind, subresource: str) -> Filter:
    """What counts for ownership on an endpoint of a kind."""
    own = _OWN_RULES.get((kind.storage, subresource))
    if own is not None:
        return own
    if subresource == "status":
        resets_metadata = kind.is_custom or kind.storage in _STATUS_WITHOUT_METADATA
        return Exclude(_SPEC_AND_METADATA if resets_metadata else _SPEC)
    if not subresource and kind.subresource("status") is not None:
        return Exclude(_STATUS)
    return EVERYTHING
