"""The target of an autoscaler: what its reference means, and its scale subresource."""

from __future__ import annotations

from typing import Any

from controllers.horizontal_pod_autoscaler.answers import in_words
from controllers.horizontal_pod_autoscaler.model import Json
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed

_REMEMBER_SECONDS = 30.0
_TRIES = 5


class NoTarget(Exception):
    """There is nothing to scale; the message is shown in the autoscaler's status."""


class Kinds:
    """The resource of a kind, in the version its group prefers. What was found is believed for half a minute."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._known: dict[tuple[str, str], Resource] = {}  # emptied every half minute, so kinds in use bound it
        self._known_since = 0.0

    async def resource_of(self, reference: Json) -> Resource:
        """NoTarget where no such kind is served."""
        api_version, kind = reference.get("apiVersion") or "", reference["kind"]
        if api_version.count("/") > 1:
            raise NoTarget(f"unexpected GroupVersion string: {api_version}")
        group = api_version.rpartition("/")[0]
        now = self._clock.monotonic()
        if now - self._known_since >= _REMEMBER_SECONDS:
            self._known, self._known_since = {}, now
        if (group, kind) not in self._known:
            self._known[group, kind] = await self._look_up(group, kind)
        return self._known[group, kind]

    async def _look_up(self, group: str, kind: str) -> Resource:
        for version in await self._versions(group):
            entries = (await self._read(f"/apis/{group}/{version}" if group else f"/api/{version}")).get("resources")
            for entry in entries or ():
                if entry["kind"] == kind and "/" not in entry["name"]:
                    return Resource(group, version, entry["name"], kind, bool(entry.get("namespaced")))
        raise NoTarget(f"no matches for kind {go_quote(kind)} in group {go_quote(group)}")

    async def _versions(self, group: str) -> list[str]:
        """The preferred one first."""
        if not group:
            return list((await self._read("/api")).get("versions") or ())
        answer = await self._read(f"/apis/{group}")
        preferred = (answer.get("preferredVersion") or {}).get("version")
        versions = [one["version"] for one in answer.get("versions") or ()]
        return sorted(versions, key=lambda version: version != preferred)

    async def _read(self, path: str) -> Any:
        try:
            return await self._api.request("GET", path)
        except NotFound:
            return {}


class Scales:
    def __init__(self, api: Api, kinds: Kinds) -> None:
        self._api, self._kinds = api, kinds

    async def find(self, namespace: str, reference: Json) -> tuple[Resource, Object]:
        """The target's resource and its scale; NoTarget says why there is none."""
        try:
            resource = await self._kinds.resource_of(reference)
            return resource, await self._api.get(resource, reference["name"], namespace, subresource="scale")
        except ConnectionFailed:
            raise
        except ApiError as error:
            raise NoTarget(in_words(error)) from error

    async def write(self, resource: Resource, scale: ReadOnlyObject, replicas: int) -> None:
        """On the newest scale, should it have changed meanwhile. ApiError where the server refuses."""
        for _ in range(_TRIES - 1):
            try:
                await self._put(resource, scale, replicas)
                return
            except Conflict:
                scale = await self._api.get(resource, name_of(scale), namespace_of(scale), subresource="scale")
        await self._put(resource, scale, replicas)

    async def _put(self, resource: Resource, scale: ReadOnlyObject, replicas: int) -> None:
        wanted = {**scale, "spec": {**(scale.get("spec") or {}), "replicas": replicas}}
        await self._api.update(resource, wanted, subresource="scale")
