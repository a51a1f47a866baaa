"""What each sort of storage needs to be told, for volumes of pods and PersistentVolumes alike.

`check_one_source` holds a union to exactly one source. Sources that pods alone have (config maps, projections …) are in
`pod_sources`, those of PersistentVolumes in `persistent_sources`; both are tables of `Source`, in Kubernetes' order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.resources.checks import (
    Check,
    Errors,
    check_dns_label,
    check_dns_subdomain,
    check_in_range,
    check_one_of,
    check_required,
)
from apiserver.resources.volumes.paths import check_descending_path, check_no_backsteps
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
AZURE_CACHING = ("None", "ReadOnly", "ReadWrite")
AZURE_KINDS = ("Dedicated", "Managed", "Shared")
AZURE_MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
AZURE_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
RESERVED_DOMAINS = (".kubernetes.io", ".k8s.io")
MAX_DRIVER_NAME = 63

_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One member of the union. Where Kubernetes reports it under another path than its JSON name, that is given."""

    name: str
    check: Check
    checked_at: str = ""
    surplus_at: str = ""
    check_whole: Check | None = None  # asked of the volume after its source: what that needs beside itself
    may_join: bool = False  # looked at beside another source too, and never refused for being one more


def check_one_source(volume: Json, sources: Sequence[Source], path: str, errors: Errors) -> str:
    """Returns the name of the source that counts, the first there is; "" where there is none."""
    found = ""
    for source in sources:
        value = volume.get(source.name)
        if value is None:
            continue
        if found and not source.may_join:
            at = f"{path}.{source.surplus_at or source.name}"
            errors.append(field.forbidden(at, "may not specify more than 1 volume type"))
        else:
            found = found or source.name
            source.check(value, f"{path}.{source.checked_at or source.name}", errors)
            if source.check_whole is not None:
                source.check_whole(volume, path, errors)
    if not found:
        errors.append(field.required(path, "must specify a volume type"))
    return found


def require(*names: str) -> Check:
    """A check that asks for these fields and nothing else."""

    def check(source: Json, path: str, errors: Errors) -> None:
        for name in names:
            check_required(source.get(name), f"{path}.{name}", errors)

    return check


def check_host_path(source: Json, path: str, errors: Errors) -> None:
    if not source.get("path"):
        errors.append(field.required(f"{path}.path"))
        return
    check_no_backsteps(source["path"], f"{path}.path", errors)
    if "type" in source:
        check_one_of(source["type"], HOST_PATH_TYPES, f"{path}.type", errors)


def check_local(source: Json, path: str, errors: Errors) -> None:
    if not source.get("path"):
        errors.append(field.required(f"{path}.path"))
    else:
        check_no_backsteps(source["path"], f"{path}.path", errors)


def check_git_repository(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("repository"), f"{path}.repository", errors)
    check_descending_path(source.get("directory", ""), f"{path}.directory", errors)


def check_nfs(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("server"), f"{path}.server", errors)
    check_required(source.get("path"), f"{path}.path", errors)
    if not source.get("path", "").startswith("/"):
        errors.append(field.invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))


def check_partitioned_disk(id_field: str) -> Check:
    """GCE and AWS disks: an id and a partition."""

    def check(source: Json, path: str, errors: Errors) -> None:
        check_required(source.get(id_field), f"{path}.{id_field}", errors)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(field.invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive"))

    return check


def check_fibre_channel(source: Json, path: str, errors: Errors) -> None:
    names, ids, at = source.get("targetWWNs"), source.get("wwids"), f"{path}.targetWWNs"
    if not names and not ids:
        errors.append(field.required(at, "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        errors.append(field.invalid(at, names, "targetWWNs and wwids can not be specified simultaneously"))
    if names:
        if "lun" not in source:
            errors.append(field.required(f"{path}.lun", "lun is required if targetWWNs is specified"))
        else:
            check_in_range(source["lun"], 0, 255, f"{path}.lun", errors)


def check_iscsi(source: Json, path: str, errors: Errors, *, prefix_reason: str = "must be valid format") -> None:
    """Target, name and logical unit; `prefix_reason` is what a name of no known scheme is told."""
    if name := source.get("iqn"):
        _check_iscsi_name(name, prefix_reason, f"{path}.iqn", errors)
    else:
        errors.append(field.required(f"{path}.iqn"))
    check_in_range(source.get("lun", 0), 0, 255, f"{path}.lun", errors)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        errors.append(field.required(f"{path}.secretRef"))


def check_iscsi_initiator(source: Json, path: str, errors: Errors, *, prefix_reason: str) -> None:
    if (initiator := source.get("initiatorName")) is not None:
        _check_iscsi_name(initiator, prefix_reason, f"{path}.initiatorname", errors)


def check_quobyte(source: Json, path: str, errors: Errors) -> None:
    registry = source.get("registry", "")
    reason = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.append(field.required(f"{path}.registry", reason))
    elif len(source.get("tenant", "")) >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(field.required(f"{path}.tenant", why))
    else:
        for pair in registry.split(","):
            if not _is_host_and_port(pair):
                errors.append(field.invalid(f"{path}.registry", registry, reason))
    check_required(source.get("volume"), f"{path}.volume", errors)


def check_flocker(source: Json, path: str, errors: Errors) -> None:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        errors.append(field.required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        reason = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(field.invalid(path, "resource", reason))
    if "/" in name:
        errors.append(field.invalid(f"{path}.datasetName", name, "must not contain '/'"))


def check_flex_volume(source: Json, path: str, errors: Errors) -> None:
    check_required(source.get("driver"), f"{path}.driver", errors)
    for key in source.get("options") or ():
        if f".{key.partition('/')[0].lower()}".endswith(RESERVED_DOMAINS):
            reason = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(field.invalid(f"{path}.options[{key}]", key, reason))


def check_azure_disk(source: Json, path: str, errors: Errors) -> None:
    uri, kind = source.get("diskURI", ""), source.get("kind")
    check_required(source.get("diskName"), f"{path}.diskName", errors)
    check_required(uri, f"{path}.diskURI", errors)
    if "cachingMode" in source:
        check_one_of(source["cachingMode"], AZURE_CACHING, f"{path}.cachingMode", errors)
    if kind is None:
        return
    check_one_of(kind, AZURE_KINDS, f"{path}.kind", errors)
    prefix, example = ("/subscriptions/", AZURE_MANAGED_URI) if kind == "Managed" else ("https://", AZURE_BLOB_URI)
    if not uri.startswith(prefix):
        errors.append(field.not_supported(f"{path}.diskURI", uri, (example,)))


def check_storage_os_volume(source: Json, path: str, errors: Errors) -> None:
    if name := source.get("volumeName"):
        check_dns_label(name, f"{path}.volumeName", errors)
    else:
        errors.append(field.required(f"{path}.volumeName"))
    if namespace := source.get("volumeNamespace"):
        check_dns_label(namespace, f"{path}.volumeNamespace", errors)


def check_driver_name(name: str, path: str, errors: Errors) -> None:
    """The name of a CSI driver, whose case does not matter."""
    if not name:
        errors.append(field.required(path))
        return
    if len(name) > MAX_DRIVER_NAME:
        errors.append(field.too_long(path, MAX_DRIVER_NAME))
    before = len(errors)
    check_dns_subdomain(name.lower(), path, errors)
    for i in range(before, len(errors)):
        errors[i] = field.FieldError(
            errors[i].reason, path, errors[i].body.replace(field.go_value(name.lower()), field.go_value(name), 1)
        )


def check_secret_parts(source: Json, names: Sequence[str], path: str, errors: Errors) -> None:
    """A secretRef, where there is one, has these parts."""
    if (reference := source.get("secretRef")) is not None:
        for name in names:
            check_required(reference.get(name), f"{path}.secretRef.{name}", errors)


def _check_iscsi_name(name: str, prefix_reason: str, path: str, errors: Errors) -> None:
    pattern = _ISCSI_NAMES.get(name[:3])
    if pattern is None:
        errors.append(field.invalid(path, name, prefix_reason))
    elif not pattern.search(name):
        errors.append(field.invalid(path, name, "must be valid format"))


def _is_host_and_port(pair: str) -> bool:
    host, colon, port = pair.rpartition(":")
    if not colon or "]" in port:
        return False
    return host.startswith("[") and host.endswith("]") if ":" in host else "[" not in host and "]" not in host
