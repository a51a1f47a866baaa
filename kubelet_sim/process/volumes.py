"""The volumes of a pod as directories: empty ones, and files made of ConfigMaps, Secrets, tokens and the downward API.

Each volume is one directory of the pod; a container has symbolic links to them below its own root, where it mounts
them. Files are written anew whenever a container of the pod starts, and while it runs, each replaced as a whole.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubelet_sim.environment import downward, expanded
from kubelet_sim.sources import WORDS, parts_of, read, source_of
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.meta import ReadOnlyObject, namespace_of
from kubeloop.client.api import Api

Json = Mapping[str, Any]

_FILES = ("configMap", "secret", "downwardAPI", "projected")
_DEFAULT_MODE = 0o644
_TEMPORARY = ".~new"  # no key has this name, and keys may be as long as names of files


@dataclass(frozen=True, slots=True)
class File:
    path: str
    content: bytes
    mode: int


def kinds_left_out(pod: ReadOnlyObject) -> list[str]:
    """The volumes that a container finds empty, each with its kind: `data (hostPath)`."""
    volumes = pod["spec"].get("volumes") or ()
    kinds = {volume["name"]: next((word for word in volume if word != "name"), "emptyDir") for volume in volumes}
    return [f"{name} ({kind})" for name, kind in kinds.items() if kind not in (*_FILES, "emptyDir")]


async def write(api: Api, tokens: Tokens, pod: ReadOnlyObject, folder: Path) -> None:
    """All volumes of the pod, which is as the downward API tells of it. Raises ApiError, OSError."""
    for volume in pod["spec"].get("volumes") or ():
        directory = folder / volume["name"]
        directory.mkdir(parents=True, exist_ok=True)
        files = [file async for file in _files(api, tokens, volume, pod)]
        for file in files:
            _write(directory, file)
        if any(word in volume for word in _FILES):
            _remove_others(directory, files)


def mount(container: Json, root: Path, volumes: Path, environment: Mapping[str, str]) -> None:
    """The links of a container. Raises OSError where a path cannot be made."""
    mounts = [(_inside(one.get("mountPath") or "/"), one) for one in container.get("volumeMounts") or ()]
    for path, one in sorted(mounts, key=lambda pair: pair[0]):
        target = volumes / one["name"]
        part = one.get("subPath") or expanded(one.get("subPathExpr") or "", environment)
        if part:
            target = target / _inside(part)
            if not target.exists():
                target.mkdir(parents=True)
        link = root / path
        if link == root:
            raise OSError(f'volume "{one["name"]}" cannot be mounted at /')
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() or link.is_file():
            link.unlink()
        if not link.exists():
            link.symlink_to(target)


def inside(root: Path, path: str) -> Path:
    """Where a path of a container is; `..` does not lead out."""
    return root / _inside(path)


def _inside(path: str) -> str:
    return posixpath.normpath(f"/{path}").lstrip("/")


async def _files(api: Api, tokens: Tokens, volume: Json, pod: ReadOnlyObject) -> AsyncIterator[File]:
    mode = _mode_of(volume)
    for part in parts_of(volume):
        for word, kind in WORDS:
            if word in part:
                found = await read(api, namespace_of(pod), source_of(part[word], kind))
                items = part[word].get("items") or [{"key": key, "path": key} for key in found]
                for item in items:
                    if item["key"] in found:
                        yield File(item["path"], found[item["key"]], _or(item.get("mode"), mode))
        for item in (part.get("downwardAPI") or {}).get("items") or ():
            yield File(item["path"], downward(pod, item).encode(), _or(item.get("mode"), mode))
        if "serviceAccountToken" in part:
            token = part["serviceAccountToken"]
            yield File(token.get("path") or "token", (await tokens.asked(pod, token)).encode(), 0o600)


def _mode_of(volume: Json) -> int:
    return next((_or(volume[word].get("defaultMode"), _DEFAULT_MODE) for word in _FILES if word in volume), 0)


def _write(directory: Path, file: File) -> None:
    """Whoever reads at the same time sees the old content or the new one."""
    path = directory / _inside(file.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(_TEMPORARY)
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode | 0o600)
    with os.fdopen(descriptor, "wb") as written:
        written.write(file.content)
    temporary.chmod(file.mode | 0o400)
    temporary.replace(path)


def _remove_others(directory: Path, files: Sequence[File]) -> None:
    """Keys that were taken out of a ConfigMap are files no more."""
    wanted = {directory / _inside(file.path) for file in files}
    for path in directory.rglob("*"):
        if path not in wanted and not path.is_dir():
            path.unlink(missing_ok=True)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
