"""An API server that can be made to forget its history: whoever resumes a watch from before is told 410."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from apiserver.storage.interface import Key, Value, Write, encode_body
from apiserver.storage.sqlite import SqliteStorage
from kubeloop.cli.kubeconfig_file import Login
from kubeloop.cli.throwaway import free_port
from tests.testkit import lateness
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, is_ready, running

# A revision of which no server here remembers anything.
EXPIRED = "1"


class ForgetfulServer:
    """An API server by itself, over plain HTTP; its data and its kubeconfig are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._data, self._port = folder / "data", free_port()
        self.server = f"http://127.0.0.1:{self._port}"
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(Login(self.server).kubeconfig("alone"))
        self.kubectl = Kubectl(kubeconfig)
        self._process = ExitStack()
        self._forgotten = 0

    def __enter__(self) -> Self:
        asyncio.run(_write_and_compact(self._data))
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.close()

    def create_config_map(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Its revision."""
        path = f"{self.server}/api/v1/namespaces/default/configmaps"
        config_map = {"metadata": {"name": name, "labels": dict(labels or {})}}
        response = httpx.post(path, json=config_map, trust_env=False, timeout=60)
        assert response.status_code == 201, response.text
        revision: str = response.json()["metadata"]["resourceVersion"]
        return revision

    def forget(self, changes: int = 20) -> None:
        """After so many other ConfigMaps were made: stop, drop the history and come back."""
        for number in range(changes):
            self.create_config_map(f"other-{self._forgotten}-{number}")
        self._forgotten += 1
        self._process.close()
        asyncio.run(_compact(self._data))
        self._start()

    def _start(self) -> None:
        self._process.enter_context(
            running(
                *(sys.executable, "-m", "apiserver", f"--port={self._port}", f"--data-dir={self._data}"),
                *lateness.api_server_flags(),
            )
        )
        eventually(lambda: is_ready(self.server), "the API server becomes ready")


@asynccontextmanager
async def _storage(data: Path) -> AsyncIterator[SqliteStorage]:
    storage = SqliteStorage(data)
    await storage.start()
    yield storage
    await storage.close()


async def _compact(data: Path) -> None:
    async with _storage(data) as storage:
        await storage.compact(storage.head)


async def _write_and_compact(data: Path) -> None:
    """Something that was there, and is gone: revision 1."""
    key = Key("configmaps", "default", "gone")
    async with _storage(data) as storage:
        await storage.write(Write(key, 0, Value(encode_body({"metadata": {"name": "gone"}}), {}, {})))
        await storage.write(Write(key, None, None))
        await storage.compact(storage.head)
