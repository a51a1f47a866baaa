"""Writes the context `kubeloop` into a kubeconfig and leaves every other one alone.

The file is locked as kubectl does (`FILE.lock`), backed up once before its first change (`FILE.kubeloop-backup`) and
replaced as a whole, keeping its mode.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kubeloop.apimachinery.clock import Clock
from kubeloop.cli.options import UsageError
from kubeloop.client.api import Api
from kubeloop.client.connections import Connections
from kubeloop.client.kubeconfig import Connection, tls_context

NAME = "kubeloop"
STACK = "kubeloop.io/stack"  # the extension of a cluster that says whose it is
_DATA_DIR = "dataDir"
LOCK_SECONDS = 5.0

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Login:
    """What it takes to reach a server and to be somebody there. PEM text; empty is left out."""

    server: str
    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""

    def entries(self, name: str, *extensions: Config) -> Iterator[tuple[str, Config]]:
        """The cluster, user and context of that name, each with the section it belongs into."""
        ca = _data(self.ca)
        cluster: Config = {"server": self.server, "certificate-authority-data": ca, "extensions": list(extensions)}
        if self.server.startswith("http:"):
            # There is nothing to verify, and some clients (Kubernetes' own for JavaScript) want to read that first.
            cluster["insecure-skip-tls-verify"] = True
        user = {
            "token": self.token,
            "client-certificate-data": _data(self.certificate),
            "client-key-data": _data(self.key),
        }
        yield "clusters", {"name": name, "cluster": _without_empty(cluster)}
        yield "users", {"name": name, "user": _without_empty(user)}
        yield "contexts", {"name": name, "context": {"cluster": name, "user": name}}

    def connect(self) -> Api:
        connection = Connection(self.server, token=self.token, ca=self.ca, certificate=self.certificate, key=self.key)
        return Api(self.server, Connections(self.server, tls_context(connection)), self.token)

    def kubeconfig(self, name: str) -> str:
        """A kubeconfig of its own."""
        config: Config = {"apiVersion": "v1", "kind": "Config", "current-context": name}
        for section, entry in self.entries(name):
            config[section] = [entry]
        return yaml.safe_dump(config, sort_keys=False)


async def write_context(path: Path, login: Login, data_dir: Path, clock: Clock) -> None:
    """Set cluster, user and context `kubeloop`, and make it the current one. UsageError where that cannot be.

    The cluster says where the state of its stack is (`data_dir_of`).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
    await _wait_for_lock(path, clock)
    try:
        config = _read(path)
        _backup(path)
        for section, entry in login.entries(NAME, _extension(data_dir)):
            _set(config, section, entry)
        config["current-context"] = NAME
        _replace(path, config)
    finally:
        _lock(path).unlink(missing_ok=True)


def _extension(data_dir: Path) -> Config:
    return {"name": STACK, "extension": {_DATA_DIR: str(data_dir.resolve())}}


def data_dir_of(connection: Connection) -> Path | None:
    """Where the state of the stack is that has written this context; None of any other."""
    told = connection.extensions.get(STACK)
    found = told.get(_DATA_DIR) if isinstance(told, dict) else None
    return Path(found) if found and isinstance(found, str) else None


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _without_empty(values: Config) -> Config:
    return {name: value for name, value in values.items() if value}


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
