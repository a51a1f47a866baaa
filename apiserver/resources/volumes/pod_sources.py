"""The sorts of volumes a pod can have, in the order Kubernetes looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Check, Errors, check_dns_subdomain, check_required
from apiserver.resources.volumes import sources
from apiserver.resources.volumes.claim_spec import check_claim_template
from apiserver.resources.volumes.paths import check_file_mode
from apiserver.resources.volumes.projected import check_downward_api_file, check_key_to_path, check_projected
from apiserver.resources.volumes.sources import Source, require
from kubeloop.apimachinery import field
from kubeloop.apimachinery.quantity import parse

Json = Mapping[str, Any]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MAX_ISCSI_LENGTH = 64
_ISCSI_PREFIX = "must be valid format starting with iqn, eui, or naa"


def check_pod_volume_source(volume: Json, pod_name: str, is_pod: bool, path: str, errors: Errors) -> None:
    """`pod_name` is "" in a template. A few rules need more than the source itself and are added here."""
    before = len(errors)
    kind = sources.check_one_source(volume, POD_SOURCES, path, errors)
    if "iscsi" in volume and "initiatorName" in volume["iscsi"]:
        _check_iscsi_length(volume, path, errors)
    if kind == "ephemeral" and pod_name and volume.get("name"):
        _check_claim_name(volume["name"], pod_name, path, errors)
    if kind == "image" and is_pod and not volume["image"].get("reference"):
        # Templates may leave the reference to whoever makes pods of them.
        errors.insert(before, field.required(f"{path}.image.reference"))


def check_pull_policy(policy: str | None, path: str, errors: Errors) -> None:
    if not policy:
        errors.append(field.required(path))
    elif policy not in PULL_POLICIES:
        errors.append(field.not_supported(path, policy, PULL_POLICIES))


def _check_iscsi_length(volume: Json, path: str, errors: Errors) -> None:
    if len(f"{volume.get('name', '')}:{volume['iscsi'].get('targetPortal', '')}") > MAX_ISCSI_LENGTH:
        reason = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(field.invalid(f"{path}.name", volume.get("name", ""), reason))


def _check_claim_name(volume_name: str, pod_name: str, path: str, errors: Errors) -> None:
    claim_name = f"{pod_name}-{volume_name}"
    refused: Errors = []
    check_dns_subdomain(claim_name, path, refused)
    for error in refused:
        reason = error.body.split(": ", 2)[2]
        text = f"PVC name {field.go_value(claim_name)}: {reason}"
        errors.append(field.invalid(f"{path}.name", volume_name, text))


def _check_empty_dir(source: Json, path: str, errors: Errors) -> None:
    if "sizeLimit" in source and parse(source["sizeLimit"]).sign < 0:
        reason = "SizeLimit field must be a valid resource quantity"
        errors.append(field.forbidden(f"{path}.sizeLimit", reason))


def _check_files(name_field: str) -> Check:
    """A Secret or ConfigMap as files."""

    def check(source: Json, path: str, errors: Errors) -> None:
        check_required(source.get(name_field), f"{path}.{name_field}", errors)
        check_file_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
        for i, item in enumerate(source.get("items") or ()):
            check_key_to_path(item, f"{path}.items[{i}]", errors)

    return check


def _check_downward_api(source: Json, path: str, errors: Errors) -> None:
    check_file_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
    for item in source.get("items") or ():
        check_downward_api_file(item, path, errors)


def _check_iscsi(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("targetPortal"), f"{path}.targetPortal", errors)
    sources.check_iscsi(source, path, errors, prefix_reason=_ISCSI_PREFIX)
    sources.check_iscsi_initiator(source, path, errors, prefix_reason=_ISCSI_PREFIX)


def _check_cinder(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("volumeID"), f"{path}.volumeID", errors)
    sources.check_secret_parts(source, ("name",), path, errors)


def _check_storage_os(source: Json, path: str, errors: Errors) -> None:
    sources.check_storage_os_volume(source, path, errors)
    sources.check_secret_parts(source, ("name",), path, errors)


def _check_csi(source: Json, path: str, errors: Errors) -> None:
    sources.check_driver_name(source.get("driver", ""), f"{path}.driver", errors)
    if (reference := source.get("nodePublishSecretRef")) is not None:
        if name := reference.get("name"):
            check_dns_subdomain(name, f"{path}.name", errors)
        else:
            errors.append(field.required(f"{path}.nodePublishSecretRef.name"))


def _check_ephemeral(source: Json, path: str, errors: Errors) -> None:
    if "volumeClaimTemplate" not in source:
        errors.append(field.required(f"{path}.volumeClaimTemplate"))
    else:
        check_claim_template(source["volumeClaimTemplate"], f"{path}.volumeClaimTemplate", errors)


def _check_image(source: Json, path: str, errors: Errors) -> None:
    check_pull_policy(source.get("pullPolicy"), f"{path}.pullPolicy", errors)


POD_SOURCES = (
    Source("emptyDir", _check_empty_dir),
    Source("hostPath", sources.check_host_path),
    Source("gitRepo", sources.check_git_repository),
    Source("gcePersistentDisk", sources.check_partitioned_disk("pdName"), checked_at="persistentDisk"),
    Source("awsElasticBlockStore", sources.check_partitioned_disk("volumeID")),
    Source("secret", _check_files("secretName")),
    Source("nfs", sources.check_nfs),
    Source("iscsi", _check_iscsi),
    Source("glusterfs", require("endpoints", "path")),
    Source("flocker", sources.check_flocker),
    Source("persistentVolumeClaim", require("claimName")),
    Source("rbd", require("monitors", "image")),
    Source("cinder", _check_cinder),
    Source("cephfs", require("monitors"), surplus_at="cephFS"),
    Source("quobyte", sources.check_quobyte),
    Source("downwardAPI", _check_downward_api, surplus_at="downwarAPI"),
    Source("fc", sources.check_fibre_channel),
    Source("flexVolume", sources.check_flex_volume),
    Source("configMap", _check_files("name")),
    Source("azureFile", require("secretName", "shareName")),
    Source("vsphereVolume", require("volumePath")),
    Source("photonPersistentDisk", require("pdID")),
    Source("portworxVolume", require("volumeID")),
    Source("azureDisk", sources.check_azure_disk),
    Source("storageos", _check_storage_os),
    Source("projected", check_projected),
    Source("scaleIO", require("gateway", "system", "volumeName")),
    Source("csi", _check_csi),
    Source("ephemeral", _check_ephemeral),
    Source("image", _check_image),
)
