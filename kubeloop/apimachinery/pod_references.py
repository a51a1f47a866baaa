"""What of the API a pod names: its secrets, config maps, claims.

The Node authorizer lets a node read what its pods name; NodeRestriction and ServiceAccount keep mirror pods from naming
anything. Facts: pkg/api/v1/pod/util.go and pkg/api/pod/util.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject, name_of

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"

Json = Mapping[str, Any]

# Volume sources that name a secret -> the field that does.
_SECRET_FIELDS = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}
# Volume sources that need the API, as a refusal calls what they need.
_NEEDED = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_NEEDED_BY_PROJECTIONS = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def secret_names(pod: ReadOnlyObject) -> Iterator[str]:
    """The secrets a pod names for pulling images, in its containers and in its volumes."""
    spec = pod.get("spec") or {}
    yield from _named(spec.get("imagePullSecrets") or ())
    yield from _container_names(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for source, field in _SECRET_FIELDS.items():
            if value := (volume.get(source) or {}).get(field):
                yield from _named([value]) if isinstance(value, Mapping) else [value]
        yield from _named(projected["secret"] for projected in projections(volume) if "secret" in projected)


def config_map_names(pod: ReadOnlyObject) -> Iterator[str]:
    """The config maps a pod names in its containers and in its volumes."""
    spec = pod.get("spec") or {}
    yield from _container_names(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield from _named([volume.get("configMap") or {}])
        yield from _named(projected["configMap"] for projected in projections(volume) if "configMap" in projected)


def volume_claim_names(pod: ReadOnlyObject) -> Iterator[str]:
    """The persistent volume claims of a pod, those made for it included."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield claim.get("claimName", "")
        elif "ephemeral" in volume:
            yield ephemeral_claim_name(pod, volume)


def ephemeral_claim_name(pod: ReadOnlyObject, volume: Json) -> str:
    """The claim that is made for an ephemeral volume of a pod."""
    return f"{name_of(pod)}-{volume['name']}"


def resource_claim_names(pod: ReadOnlyObject) -> Iterator[str]:
    """The resource claims of a pod as far as they exist: those it names, and those made for it."""
    status = pod.get("status") or {}
    made = {one.get("name"): one.get("resourceClaimName", "") for one in status.get("resourceClaimStatuses") or ()}
    for claim in (pod.get("spec") or {}).get("resourceClaims") or ():
        if name := claim.get("resourceClaimName") or made.get(claim.get("name")):
            yield name
    if extended := (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"):
        yield extended


def projections(volume: Json) -> Iterator[Json]:
    """The sources of a projected volume."""
    yield from (volume.get("projected") or {}).get("sources") or ()


def api_reference(pod: ReadOnlyObject) -> str:
    """What of the API a pod needs, in the words of a refusal; "" where it needs nothing."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(secret_names(pod)):
        return "secrets"
    if any(config_map_names(pod)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next((found for volume in spec.get("volumes") or () if (found := _needed_by(volume))), "")


def _needed_by(volume: Json) -> str:
    for source, needed in _NEEDED.items():
        if source in volume:
            return needed
    sources = (source for projected in projections(volume) for source in projected)
    return next((_NEEDED_BY_PROJECTIONS[source] for source in sources if source in _NEEDED_BY_PROJECTIONS), "")


def _container_names(spec: Json, whole: str, key: str) -> Iterator[str]:
    """What the environment of a pod's containers is taken from: whole objects, and single keys of some."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield from _named(source[whole] for source in container.get("envFrom") or () if source.get(whole))
            for variable in container.get("env") or ():
                if reference := (variable.get("valueFrom") or {}).get(key):
                    yield from _named([reference])


def _named(references: Iterator[Json] | list[Json] | tuple[Json, ...]) -> Iterator[str]:
    return (reference["name"] for reference in references if reference.get("name"))
