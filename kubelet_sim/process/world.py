"""What a container's command sees: its environment, its directories, its arguments.

There is no mount namespace: paths are the host's. What the container mounts, and its home, are below its own root,
which the variable KUBELOOP_ROOT names; so is its working directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kubelet_sim import service_links
from kubelet_sim.environment import command_of, environment
from kubelet_sim.last_words import MESSAGE_PATH
from kubelet_sim.naming import hostname
from kubelet_sim.process import volumes
from kubelet_sim.process.processes import Command
from kubelet_sim.process.trees import remove_tree
from kubelet_sim.sources import Source, read, used_by
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, namespace_of
from kubeloop.client.api import Api
from kubeloop.container_processes import ROOT_VARIABLE

HOST = "127.0.0.1"  # where a process that is told the pod's address can really listen
_TEMPORARY = "tmp"


@dataclass(frozen=True, slots=True)
class Places:
    """Of one container: its root, its pod's volumes, and the logs of its runs."""

    root: Path
    volumes: Path
    logs: Path

    @classmethod
    def of(cls, root_dir: Path, uid: str, container: str) -> Places:
        pod = pod_directory(root_dir, uid)
        return cls(pod / "containers" / container / "root", pod / "volumes", pod / "logs" / container)

    def log(self, run_id: str) -> Path:
        return self.logs / run_id.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class World:
    command: Command
    root: Path
    message_file: Path

    def of_command(self, argv: Sequence[str], *, has_stdin: bool = False, has_terminal: bool = False) -> Command:
        """Another command in the same container."""
        return replace(self.command, argv=argv, has_stdin=has_stdin, has_terminal=has_terminal, program="")


def pods_directory(root_dir: Path) -> Path:
    return root_dir / "pods"


def pod_directory(root_dir: Path, uid: str) -> Path:
    return pods_directory(root_dir) / uid


async def prepare(
    api: Api, tokens: Tokens, pod: ReadOnlyObject, container: Mapping[str, Any], places: Places, path: str
) -> World:
    """Writes volumes and makes an empty root. `path`: the PATH of a container that says none.

    Raises ApiError, OSError.
    """
    seen = _as_seen_inside(pod)
    await volumes.write(api, tokens, seen, places.volumes)
    known = await _environment(api, seen, container, places.root, path)
    remove_tree(places.root)
    (places.root / _TEMPORARY).mkdir(parents=True, exist_ok=True)
    volumes.mount(container, places.root, places.volumes, known)
    working_dir = volumes.inside(places.root, container.get("workingDir") or "/")
    working_dir.mkdir(parents=True, exist_ok=True)
    message_file = volumes.inside(places.root, container.get("terminationMessagePath") or MESSAGE_PATH)
    message_file.parent.mkdir(parents=True, exist_ok=True)
    _write_nothing(message_file)
    command = Command(
        command_of(container, known),
        known,
        working_dir,
        has_stdin=bool(container.get("stdin")),
        has_terminal=bool(container.get("tty")),
    )
    return World(
        replace(command, program=_mounted_program(container, command.argv[0], places.root)), places.root, message_file
    )


async def refresh(api: Api, tokens: Tokens, pod: ReadOnlyObject, places: Places) -> None:
    """The files of the pod's volumes as they are to be now. Raises ApiError, OSError."""
    await volumes.write(api, tokens, _as_seen_inside(pod), places.volumes)


async def _environment(
    api: Api, pod: ReadOnlyObject, container: Mapping[str, Any], root: Path, path: str
) -> dict[str, str]:
    namespace = namespace_of(pod)
    data = {source: await _text(api, namespace, source) for source in set(used_by(pod, container))}
    own = {ROOT_VARIABLE: str(root)}
    given = {
        "PATH": path,
        "HOSTNAME": hostname(pod),
        "HOME": str(root),
        "TMPDIR": str(root / _TEMPORARY),
        **await service_links.variables(api, pod, api.base_url),
        **own,
    }
    return environment(pod, container, data, given) | own


async def _text(api: Api, namespace: str, source: Source) -> dict[str, str]:
    """Bytes that are no text stay what they are on their way through the environment."""
    return {
        key: content.decode("utf-8", "surrogateescape") for key, content in (await read(api, namespace, source)).items()
    }


def _write_nothing(path: Path) -> None:
    """Raises OSError; at once, where a container has left a pipe there that nobody reads."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o644))


def _mounted_program(container: Mapping[str, Any], name: str, root: Path) -> str:
    """A program that the container mounts is found by the path that it has in the container."""
    mounts = [one.get("mountPath") or "/" for one in container.get("volumeMounts") or ()]
    is_mounted = any(name == path or name.startswith(f"{path.rstrip('/')}/") for path in mounts)
    program = volumes.inside(root, name)
    return str(program) if is_mounted and program.is_file() else ""


def _as_seen_inside(pod: ReadOnlyObject) -> Object:
    """The downward API tells a process the address that it can listen on and be reached at."""
    status = pod.get("status") or {}
    address = {"podIP": HOST, "podIPs": [{"ip": HOST}], "hostIP": HOST, "hostIPs": [{"ip": HOST}]}
    return {**pod, "status": {**status, **address}}
