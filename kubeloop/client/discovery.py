"""What a server serves: the resources of a group version, and which resource a manifest's kind means.

`resources_of` asks; `KindMapper` remembers, for whoever applies objects of any kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api


class ServedResource(NamedTuple):
    resource: Resource
    verbs: frozenset[str]


class NoMatch(Exception):
    """Nobody serves that kind (now); the message is client-go's."""


async def resources_of(api: Api, group_version: str) -> list[ServedResource]:
    """The resources of `v1`, `apps/v1`, …, without subresources. NotFound where there is no such group version."""
    answer = await api.request(
        "GET", quote(f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}")
    )
    group, _, version = group_version.rpartition("/")
    return [_served(entry, group, version) for entry in answer.get("resources") or [] if "/" not in entry["name"]]


def _served(entry: Any, group: str, version: str) -> ServedResource:
    """An entry says its group and version where they are not the list's."""
    resource = Resource(
        entry.get("group") or group,
        entry.get("version") or version,
        entry["name"],
        entry["kind"],
        bool(entry.get("namespaced")),
    )
    return ServedResource(resource, frozenset(entry.get("verbs") or ()))


class KindMapper:
    """From apiVersion and kind to the resource. A kind that is not known is looked up anew each time it is asked for.

    What was once found is believed until `forget`: a request to a kind that is gone answers 404.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: dict[tuple[str, str], Resource] = {}  # as many as there are kinds

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Raises NoMatch."""
        if (api_version, kind) not in self._known:
            await self._look_up(api_version)
        try:
            return self._known[api_version, kind]
        except KeyError:
            raise NoMatch(f'no matches for kind "{kind}" in version "{api_version}"') from None

    async def resource_in_any_version(self, group: str, version: str, kind: str) -> Resource:
        """In `version` if that is served, else in another one: objects outlive the version they were written in.

        NoMatch: no version of the group serves the kind.
        """
        try:
            return await self.resource(f"{group}/{version}" if group else version, kind)
        except NoMatch:
            for other in await self._versions(group):
                try:
                    return await self.resource(other, kind)
                except NoMatch:
                    continue
            raise

    async def _versions(self, group: str) -> list[str]:
        """`apps/v1`, …, as the server prefers them; the core group has one version."""
        if not group:
            return []
        try:
            answer = await self._api.request("GET", quote(f"/apis/{group}"))
        except NotFound:
            return []
        return [version["groupVersion"] for version in answer.get("versions") or []]

    def forget(self, resource: Resource) -> None:
        self._known.pop((resource.api_version, resource.kind), None)

    async def _look_up(self, api_version: str) -> None:
        try:
            served = await resources_of(self._api, api_version)
        except NotFound:
            return
        self._known.update({(api_version, each.resource.kind): each.resource for each in served})
