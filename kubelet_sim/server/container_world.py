"""The world of a container as a shell in it sees it: made of its pod, and of what it mounts and refers to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubelet_sim import service_links
from kubelet_sim.environment import (
    command_of,
    downward,
    environment,
    mounted_at,
    of_simulated,
    with_node_limits,
)
from kubelet_sim.naming import hostname, hosts_file, resolv_conf
from kubelet_sim.server.pods import SeenRun
from kubelet_sim.shell.world import World
from kubelet_sim.sources import WORDS, Source, as_text, mounted_parts, parts_of, read, source_of, used_by
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import ReadOnlyObject, namespace_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api

Json = Mapping[str, Any]

_TOKEN = "serviceAccountToken"
_API_SERVER = "https://10.96.0.1"
_PASSWD = "root:x:0:0:root:/root:/bin/sh\n"


async def world_of(api: Api, clock: Clock, tokens: Tokens, pod: ReadOnlyObject, container: Json, run: SeenRun) -> World:
    """What cannot be read is not there."""
    namespace = namespace_of(pod)
    pod = with_node_limits(pod, await _allocatable(api, pod))
    container = next((one for one in _containers(pod) if one["name"] == container["name"]), container)
    data = {source: await _text(api, namespace, source) for source in set(used_by(pod, container))}
    for source in mounted_parts(pod, container):
        if (wanted := source.get(_TOKEN)) and (token := await tokens.token(pod, wanted)) is not None:
            data[_token_source(wanted)] = {"token": token}
    known = environment(pod, container, data, {**of_simulated(pod), **await _links(api, pod, run)})
    security = {**(pod["spec"].get("securityContext") or {}), **(container.get("securityContext") or {})}
    return World(
        environment=known,
        files=_files(pod, container, data, known),
        directories={path.rstrip("/") for _, path, sub_path in mounted_at(container, known) if not sub_path},
        hostname=hostname(pod),
        user=security.get("runAsUser") or 0,
        group=security.get("runAsGroup") or 0,
        more_groups=_groups(pod),
        working_dir=container.get("workingDir") or "/",
        process=command_of(container, known),
        process_started_at=run.started_at,
        now=clock.now,
    )


def _files(
    pod: ReadOnlyObject, container: Json, data: Mapping[Source, Mapping[str, str]], known: Mapping[str, str]
) -> dict[str, str]:
    files = {
        "/etc/hostname": f"{hostname(pod)}\n",
        "/etc/hosts": hosts_file(pod),
        "/etc/resolv.conf": resolv_conf(pod),
        "/etc/passwd": _PASSWD,
    }
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    for volume, path, sub_path in mounted_at(container, known):
        for file, content in _of_volume(volumes.get(volume) or {}, pod, data):
            if not sub_path:
                files[f"{path.rstrip('/')}/{file}"] = content
            elif file == sub_path:
                files[path] = content
    return files


def _of_volume(
    volume: Json, pod: ReadOnlyObject, data: Mapping[Source, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    for source in parts_of(volume):
        for word, kind in WORDS:
            if word in source:
                found = data.get(source_of(source[word], kind), {})
                items = source[word].get("items") or [{"key": key, "path": key} for key in found]
                yield from ((item["path"], found[item["key"]]) for item in items if item["key"] in found)
        if (wanted := source.get(_TOKEN)) and (known := data.get(_token_source(wanted))):
            yield wanted["path"], known["token"]
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            yield item["path"], downward(pod, item)


def _groups(pod: ReadOnlyObject) -> list[int]:
    """That its processes belong to besides their own."""
    security = pod["spec"].get("securityContext") or {}
    of_files = [security["fsGroup"]] if security.get("fsGroup") is not None else []
    return [*(security.get("supplementalGroups") or ()), *of_files]


def _containers(pod: ReadOnlyObject) -> Iterator[Json]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod["spec"].get(field) or ()


async def _allocatable(api: Api, pod: ReadOnlyObject) -> Mapping[str, str]:
    """Of its node."""
    try:
        node = await api.get(NODES, pod["spec"]["nodeName"])
    except ApiError:
        return {}
    return (node.get("status") or {}).get("allocatable") or {}


def _token_source(wanted: Json) -> Source:
    return _TOKEN, f"{wanted.get('audience') or ''} {wanted.get('expirationSeconds') or ''}"


async def _links(api: Api, pod: ReadOnlyObject, run: SeenRun) -> Mapping[str, str]:
    try:
        return await service_links.variables(api, pod, _API_SERVER, run.started_at)
    except ApiError:
        return {}


async def _text(api: Api, namespace: str, source: Source) -> Mapping[str, str]:
    try:
        return as_text(await read(api, namespace, source))
    except ApiError:
        return {}
