"""The sorts of storage a PersistentVolume can stand for, in the order Kubernetes looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors, check_dns_label, check_dns_subdomain, check_required
from apiserver.resources.volumes import sources
from apiserver.resources.volumes.sources import Source, require
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

MAX_ISCSI_LENGTH = 64
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_ISCSI_FORMAT = "must be valid format"


def check_persistent_volume_source(spec: Json, volume_name: str, path: str, errors: Errors) -> None:
    """Exactly one source. How long an iSCSI portal may be depends on the volume's name."""
    sources.check_one_source(spec, PERSISTENT_SOURCES, path, errors)
    first = next((source.name for source in PERSISTENT_SOURCES if source.name in spec), "")
    if first == "iscsi" and "initiatorName" in spec["iscsi"]:  # of further ones nothing is looked at
        _check_iscsi_length(spec["iscsi"], volume_name, f"{path}.iscsi", errors)


def _check_iscsi_length(source: Json, volume_name: str, path: str, errors: Errors) -> None:
    portal = source.get("targetPortal", "")
    if len(f"{volume_name}:{portal}") > MAX_ISCSI_LENGTH:
        reason = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(field.invalid(f"{path}.targetportal", portal, reason))


def _check_local_has_node(spec: Json, path: str, errors: Errors) -> None:
    if "nodeAffinity" not in spec:
        errors.append(field.required(f"{path}.nodeAffinity", "Local volume requires node affinity"))


def _check_glusterfs(source: Json, path: str, errors: Errors) -> None:
    require("endpoints", "path")(source, path, errors)
    namespace, at = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        reason = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(field.invalid(at, namespace, reason))
    elif namespace is not None:
        check_dns_label(namespace, at, errors)


def _check_iscsi(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("targetPortal"), f"{path}.targetPortal", errors)
    sources.check_iscsi(source, path, errors)
    sources.check_secret_parts(source, ("name",), path, errors)
    sources.check_iscsi_initiator(source, path, errors, prefix_reason=_ISCSI_FORMAT)


def _check_cinder(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("volumeID"), f"{path}.volumeID", errors)
    sources.check_secret_parts(source, ("name", "namespace"), path, errors)


def _check_azure_file(source: Json, path: str, errors: Errors) -> None:
    require("secretName", "shareName")(source, path, errors)
    if source.get("secretNamespace") == "":
        errors.append(field.required(f"{path}.secretNamespace"))


def _check_storage_os(source: Json, path: str, errors: Errors) -> None:
    sources.check_storage_os_volume(source, path, errors)
    sources.check_secret_parts(source, ("name", "namespace"), path, errors)


def _check_csi(source: Json, path: str, errors: Errors) -> None:
    sources.check_driver_name(source.get("driver", ""), f"{path}.driver", errors)
    check_required(source.get("volumeHandle"), f"{path}.volumeHandle", errors)
    for name in _CSI_SECRETS:
        if (reference := source.get(name)) is not None:
            _check_secret_reference(reference, f"{path}.{name}", errors)


def _check_secret_reference(reference: Json, path: str, errors: Errors) -> None:
    for name, check in (("name", check_dns_subdomain), ("namespace", check_dns_label)):
        if value := reference.get(name):
            check(value, f"{path}.{name}", errors)
        else:
            errors.append(field.required(f"{path}.{name}"))


PERSISTENT_SOURCES = (
    Source("hostPath", sources.check_host_path),
    Source("gcePersistentDisk", sources.check_partitioned_disk("pdName"), checked_at="persistentDisk"),
    Source("awsElasticBlockStore", sources.check_partitioned_disk("volumeID")),
    Source("glusterfs", _check_glusterfs),
    Source("flocker", sources.check_flocker),
    Source("nfs", sources.check_nfs),
    Source("rbd", require("monitors", "image")),
    Source("quobyte", sources.check_quobyte),
    Source("cephfs", require("monitors"), surplus_at="cephFS"),
    Source("iscsi", _check_iscsi),
    Source("cinder", _check_cinder),
    Source("fc", sources.check_fibre_channel),
    Source("flexVolume", sources.check_flex_volume, may_join=True),
    Source("azureFile", _check_azure_file),
    Source("vsphereVolume", require("volumePath")),
    Source("photonPersistentDisk", require("pdID")),
    Source("portworxVolume", require("volumeID")),
    Source("azureDisk", sources.check_azure_disk),
    Source("scaleIO", require("gateway", "system", "volumeName")),
    Source("local", sources.check_local, check_whole=_check_local_has_node),
    Source("storageos", _check_storage_os),
    Source("csi", _check_csi),
)
SOURCE_NAMES = tuple(source.name for source in PERSISTENT_SOURCES)
