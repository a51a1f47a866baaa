"""What the server serves just now: every resource with its verbs, custom ones included.

Used by the garbage collector (what may be collected, and which resource an owner reference's kind means) and by the
namespace loop (what has to be emptied).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeloop.apimachinery.errors import ApiError, NotFound, ServiceUnavailable
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.discovery import ServedResource, resources_of


@dataclass(frozen=True, slots=True)
class Served:
    resource: Resource
    verbs: frozenset[str]
    is_preferred: bool  # in its group's preferred version, or in the first that has it

    def supports(self, *verbs: str) -> bool:
        return self.verbs.issuperset(verbs)


class DiscoveryFailed(Exception):
    """Some group versions could not be read; `served` is what the others have."""

    def __init__(self, served: Sequence[Served], failures: Mapping[str, str]) -> None:
        texts = ", ".join(f"{group_version}: {why}" for group_version, why in sorted(failures.items()))
        super().__init__(f"unable to retrieve the complete list of server APIs: {texts}")
        self.served, self.failures = served, dict(failures)


async def discover(api: Api) -> list[Served]:
    """Every resource of every version; DiscoveryFailed where a part of it cannot be read."""
    group_versions = await _group_versions(api)
    answers = await asyncio.gather(*(_resources(api, group_version) for group_version in group_versions))
    served: list[Served] = []
    seen: set[tuple[str, str]] = set()
    failures: dict[str, str] = {}
    for group_version, answer in zip(group_versions, answers, strict=True):
        if isinstance(answer, ApiError):
            failures[group_version] = _in_words(group_version, answer)
            continue
        for resource, verbs in answer:
            identity = (resource.group, resource.plural)
            served.append(Served(resource, verbs, identity not in seen))
            seen.add(identity)
    if failures:
        raise DiscoveryFailed(served, failures)
    return served


def _in_words(group_version: str, refusal: ApiError) -> str:
    """Of an aggregated API whose server is not there client-go says what it reads in aggregated discovery."""
    if refusal.code == ServiceUnavailable.code:
        return f"stale GroupVersion discovery: {group_version}"
    return refusal.message


async def _group_versions(api: Api) -> list[str]:
    """`v1`, `apps/v1`, …: of each group the preferred version first."""
    legacy, groups = await asyncio.gather(api.request("GET", "/api"), api.request("GET", "/apis"))
    found: list[str] = list(legacy.get("versions") or [])
    for group in groups.get("groups") or []:
        preferred = (group.get("preferredVersion") or {}).get("groupVersion")
        versions = [version["groupVersion"] for version in group.get("versions") or []]
        found += sorted(versions, key=lambda version: version != preferred)
    return found


async def _resources(api: Api, group_version: str) -> list[ServedResource] | ApiError:
    """The resource list; a refusal is returned, so that one bad group does not hide the others."""
    try:
        return await resources_of(api, group_version)
    except NotFound:
        return []  # went away since the groups were listed
    except ApiError as error:
        return error
