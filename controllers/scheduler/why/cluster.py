"""What the scheduler would see now: read once from the API, without watching."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from controllers.scheduler.cache import Cache
from controllers.scheduler.event_handlers import NOT_ENDED
from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import Handle
from controllers.scheduler.listing import Listing
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.snapshot import Snapshot
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, deep_copy, uid_of
from kubeloop.apimachinery.resource import NODES, PODS, Resource
from kubeloop.client.api import Api


@dataclass(frozen=True, slots=True)
class Situation:
    """One pod before the scheduler. `placed_on`: the node it has already; `pod` is the pod as it was before that.

    `listings`: what the plugins read of other kinds. `percentage`: of the nodes that the profile wants to score.
    """

    framework: Framework
    snapshot: Snapshot
    pod: PodInfo
    placed_on: str = ""
    listings: Mapping[Resource, Listing] = field(default_factory=dict)
    percentage: int = 0


class NotOurs(ValueError):
    """Another scheduler's pod."""


async def read_situation(
    api: Api, key: ObjectKey, profiles: Sequence[Profile], rng: Random, extenders: Extenders = NO_EXTENDERS
) -> Situation:
    """Raises ApiError (NotFound: there is no such pod) and NotOurs."""
    pod = await api.get(PODS, key.name, key.namespace)
    wanted = PodInfo(pod).scheduler_name
    profile = next((profile for profile in profiles if profile.name == wanted), None)
    if profile is None:
        names = ", ".join(profile.name for profile in profiles)
        raise NotOurs(f"pod {key} is left to the scheduler {wanted!r}, of which nothing is known here (known: {names})")
    pods = Listing()
    listings: dict[Resource, Listing] = {PODS: pods}

    def lister(resource: Resource) -> Listing:
        return listings.setdefault(resource, Listing())

    nominator = Nominator()
    framework = profile.build(Handle(lister=lister, api=api, rng=rng), nominator, extenders)
    nodes = lister(NODES)
    async with asyncio.TaskGroup() as reading:
        for resource, listing in listings.items():
            reading.create_task(_fill(listing, api, resource, NOT_ENDED if resource == PODS else ""))
    others = [PodInfo(other) for other in pods.list() if uid_of(other) != uid_of(pod)]
    for other in others:
        if not other.node_name:
            nominator.add(other)
    snapshot = snapshot_of(nodes.list(), [other for other in others if other.node_name])
    placed_on = (pod.get("spec") or {}).get("nodeName") or ""
    before = PodInfo(unplaced(pod))
    return Situation(framework, snapshot, before, placed_on, listings, profile.percentage_of_nodes_to_score)


async def _fill(listing: Listing, api: Api, resource: Resource, field_selector: str = "") -> None:
    """A kind that this server does not have counts as empty, as for a plugin."""
    try:
        listing.fill((await api.list(resource, field_selector=field_selector))["items"])
    except NotFound:
        return


def snapshot_of(nodes: Iterable[Object], placed: Iterable[PodInfo]) -> Snapshot:
    """In the order in which the scheduler looks at them."""
    cache, snapshot = Cache(), Snapshot()
    for node in nodes:
        cache.set_node(node)
    for pod in placed:
        cache.add_pod(pod)
    cache.update(snapshot)
    return snapshot


def unplaced(pod: Object) -> Object:
    """The pod as it was before it was bound; one that is not keeps the node it is promised."""
    before: Object = deep_copy(pod)
    if (before.get("spec") or {}).pop("nodeName", None):
        (before.get("status") or {}).pop("nominatedNodeName", None)
    return before
