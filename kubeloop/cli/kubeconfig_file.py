"""Writes the context `kubeloop` into a kubeconfig and leaves every other one alone.

The file is locked as kubectl does (`FILE.lock`), backed up once before its first change (`FILE.kubeloop-backup`) and
replaced as a whole, keeping its mode.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from kubeloop.apimachinery.clock import Clock
from kubeloop.cli.options import UsageError

NAME = "kubeloop"
LOCK_SECONDS = 5.0

Config = dict[str, Any]


async def write_context(path: Path, server: str, token: str, clock: Clock) -> None:
    """Set cluster, user and context `kubeloop`, and make it the current one. UsageError where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
    await _wait_for_lock(path, clock)
    try:
        config = _read(path)
        _backup(path)
        _set(config, "clusters", {"name": NAME, "cluster": {"server": server}})
        _set(config, "users", {"name": NAME, "user": {"token": token} if token else {}})
        _set(config, "contexts", {"name": NAME, "context": {"cluster": NAME, "user": NAME}})
        config["current-context"] = NAME
        _replace(path, config)
    finally:
        _lock(path).unlink(missing_ok=True)


def _lock(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


async def _wait_for_lock(path: Path, clock: Clock) -> None:
    """Take the lock file. One that stays longer than any write takes is a leftover, and is said so."""
    deadline = clock.monotonic() + LOCK_SECONDS
    while True:
        try:
            os.close(os.open(_lock(path), os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if clock.monotonic() > deadline:
                raise UsageError(f"{_lock(path)} exists: if no kubectl is running, remove it") from None
            await clock.sleep(0.1)
        except OSError as error:
            raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
        else:
            return


def _read(path: Path) -> Config:
    try:
        config = yaml.safe_load(path.read_text()) if path.exists() else {}
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read the kubeconfig {path}: {error}") from error
    if not isinstance(config or {}, dict):
        raise UsageError(f"cannot read the kubeconfig {path}: it holds no mapping")
    return {"apiVersion": "v1", "kind": "Config", **(config or {})}


def _backup(path: Path) -> None:
    backup = path.with_name(path.name + ".kubeloop-backup")
    if path.exists() and not backup.exists():
        backup.write_bytes(path.read_bytes())
        backup.chmod(path.stat().st_mode & 0o777)


def _set(config: Config, section: str, entry: dict[str, Any]) -> None:
    """Put the entry of our name in place of an older one."""
    others = [other for other in config.get(section) or [] if other.get("name") != entry["name"]]
    config[section] = [*others, entry]


def _replace(path: Path, config: Config) -> None:
    with _temporary(path) as temporary:
        temporary.write_text(yaml.safe_dump(config, sort_keys=False))
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
        temporary.replace(path.resolve())


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    temporary = path.resolve().with_name(path.name + ".new")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
