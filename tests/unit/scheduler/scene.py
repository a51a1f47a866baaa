"""A small cluster for scheduler tests: nodes, placed pods, and what `schedule_one` says about one more pod."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controllers.scheduler.cache import Cache
from controllers.scheduler.diagnosis import Decision
from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import CycleState, Handle
from controllers.scheduler.listing import Listing
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.schedule import schedule_one
from controllers.scheduler.snapshot import Snapshot
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of, name_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node


class FakeLister:
    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self.objects = {key_of(obj): obj for obj in objects}

    def get(self, key: ObjectKey) -> Object | None:
        return self.objects.get(key)

    def list(self, namespace: str = "") -> list[Object]:
        return [obj for key, obj in self.objects.items() if namespace in ("", key.namespace)]


class Scene:
    """`others` are objects of other kinds that plugins may read, by kind."""

    def __init__(
        self,
        nodes: Sequence[Object],
        pods: Sequence[Object] = (),
        others: Mapping[str, Sequence[Object]] | None = None,
        profile: Profile | None = None,
        seed: int = 1,
        extenders: Extenders = NO_EXTENDERS,
    ) -> None:
        self._others = others or {}
        self.listings: dict[Resource, Listing] = {}  # what plugins have asked for
        self.rng = random.Random(seed)
        self.nominator = Nominator()
        handle = Handle(lister=self._lister, api=None, rng=self.rng)  # type: ignore[arg-type]
        self.framework: Framework = (profile or Profile()).build(handle, self.nominator, extenders)
        self.cache = Cache()
        self.snapshot = Snapshot()
        for node in nodes:
            self.cache.set_node(node)
        for pod in pods:
            self.cache.add_pod(info(pod))
        self.cache.update(self.snapshot)

    def _lister(self, resource: Resource) -> Listing:
        if resource not in self.listings:
            self.listings[resource] = Listing()
            self.listings[resource].fill(self._others.get(resource.kind, ()))
        return self.listings[resource]

    def state(self) -> CycleState:
        return CycleState(self.snapshot)

    def decide(self, pod: Object, **how: Any) -> Decision:
        return schedule_one(self.framework, info(pod), self.snapshot, self.rng, **how)

    def feasible(self, pod: Object) -> list[str]:
        """The nodes that pass all filters."""
        decision = self.decide(pod, explain=True)
        return sorted(decision.diagnosis.scores)

    def reasons(self, pod: Object) -> dict[str, str]:
        """What each refused node says."""
        statuses = self.decide(pod, explain=True).diagnosis.node_statuses
        return {name: status.message for name, status in sorted(statuses.items())}

    def scores(self, pod: Object, plugin: str) -> dict[str, int]:
        """Of each feasible node: the weighted score of one plugin."""
        scores = self.decide(pod, explain=True).diagnosis.scores
        return {name: by_plugin.get(plugin, 0) for name, by_plugin in sorted(scores.items())}


def info(pod: Object) -> PodInfo:
    """With a uid of its own, as every pod that comes from a server has one."""
    metadata = {"uid": f"uid-of-{name_of(pod)}", **pod["metadata"]}
    return PodInfo({**pod, "metadata": metadata})


def nodes(*names: str) -> list[NodeBuilder]:
    """Alike but for their names."""
    return [a_node(name) for name in names]


def in_zone(name: str, zone: str) -> NodeBuilder:
    node = a_node(name)
    node["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
    return node


def with_affinity(pod: PodBuilder, kind: str, *terms: Mapping[str, Any]) -> PodBuilder:
    """`kind` is podAffinity or podAntiAffinity; the terms are required."""
    affinity = pod["spec"].setdefault("affinity", {})
    affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    return pod


def near(topology_key: str = "kubernetes.io/hostname", **labels: str) -> dict[str, Any]:
    """An affinity term."""
    return {"topologyKey": topology_key, "labelSelector": {"matchLabels": labels}}
