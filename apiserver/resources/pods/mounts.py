"""Where a container sees its volumes: mounts of file systems and block devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_one_of
from apiserver.resources.pods.surroundings import Surroundings, privileged
from apiserver.resources.volumes.paths import check_descending_path
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
BLOCK_SOURCES = ("persistentVolumeClaim", "ephemeral")


def check_volume_mounts(
    mounts: Sequence[Json], container: Json, around: Surroundings, path: str, errors: Errors
) -> None:
    devices = {d.get("name", ""): d.get("devicePath", "") for d in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        at = f"{path}[{i}]"
        name, mount_path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(field.required(f"{at}.name"))
        if name not in around.volumes:
            errors.append(field.not_found(f"{at}.name", name))
        if not mount_path:
            errors.append(field.required(f"{at}.mountPath"))
        if mount_path in seen:
            errors.append(field.invalid(f"{at}.mountPath", mount_path, "must be unique"))
        seen.add(mount_path)
        if name in devices:
            errors.append(field.invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if mount_path in devices.values():
            reason = "must not already exist as a path in volumeDevices"
            errors.append(field.invalid(f"{at}.mountPath", mount_path, reason))
        _check_sub_paths(mount, at, path, errors)
        if "mountPropagation" in mount:
            _check_propagation(mount["mountPropagation"], container, f"{path}.mountPropagation", errors)
        if "recursiveReadOnly" in mount:
            _check_recursive_read_only(mount, f"{path}.recursiveReadOnly", errors)


def check_volume_devices(
    devices: Sequence[Json], container: Json, around: Surroundings, path: str, errors: Errors
) -> None:
    mounts = {m.get("name", ""): m.get("mountPath", "") for m in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(devices):
        at = f"{path}[{i}]"
        name, device_path = device.get("name", ""), device.get("devicePath", "")
        source = around.volumes.get(name)
        if not name:
            errors.append(field.required(f"{at}.name"))
        if name in names:
            errors.append(field.invalid(f"{at}.name", name, "must be unique"))
        if source is None:
            errors.append(field.not_found(f"{at}.name", name))
        elif not any(kind in source for kind in BLOCK_SOURCES):
            reason = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(field.invalid(f"{at}.name", name, reason))
        if not device_path:
            errors.append(field.required(f"{at}.devicePath"))
        if device_path in paths:
            errors.append(field.invalid(f"{at}.devicePath", device_path, "must be unique"))
        if ".." in device_path.split("/"):
            errors.append(field.invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device_path)
        if name in mounts:
            errors.append(field.invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if device_path in mounts.values():
            reason = "must not already exist as a path in volumeMounts"
            errors.append(field.invalid(f"{at}.devicePath", device_path, reason))
        if name:
            names.add(name)


def _check_sub_paths(mount: Json, at: str, path: str, errors: Errors) -> None:
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        check_descending_path(sub_path, f"{path}.subPath", errors)
    if expression:
        if sub_path:
            reason = "subPathExpr and subPath are mutually exclusive"
            errors.append(field.invalid(f"{at}.subPathExpr", expression, reason))
        check_descending_path(expression, f"{path}.subPathExpr", errors)


def _check_propagation(mode: str, container: Json, path: str, errors: Errors) -> None:
    check_one_of(mode, PROPAGATIONS, path, errors)
    if mode == "Bidirectional" and not privileged(container):
        reason = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(field.forbidden(path, reason))


def _check_recursive_read_only(mount: Json, path: str, errors: Errors) -> None:
    mode = mount["recursiveReadOnly"]
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            errors.append(field.forbidden(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation", "None") != "None":
            reason = "may only be specified when mountPropagation is None or not specified"
            errors.append(field.forbidden(path, reason))
    elif mode != "Disabled":
        errors.append(field.not_supported(path, mode, RECURSIVE_READ_ONLY))
