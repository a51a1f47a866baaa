"""pod-garbage-collector-controller: removes pods that no kubelet will ever remove.

A pass every 20 seconds over all pods. Gone are: those of nodes that do not exist any more, those that are being deleted
and were never scheduled, those being deleted on a node marked out of service, and the oldest of too many that have
ended. pkg/controller/podgc, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from controllers.batches import at_once
from controllers.pod_status import condition_change, delete, disruption_target, patch_status
from controllers.pods import is_terminal, node_of, phase_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    generation_of,
    is_being_deleted,
    metadata,
    name_of,
)
from kubeloop.apimachinery.resource import NODES, PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.apimachinery.tolerations import taints_of
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import RequeueAfter, Result

log = structlog.get_logger(__name__)

# The changes to its status that say how a pod ended.
Ending = Callable[[ReadOnlyObject], dict[str, Any]]

CLUSTER = ObjectKey("", "cluster")
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


@dataclass(frozen=True, slots=True)
class Settings:
    pass_seconds: float = 20
    quarantine_seconds: float = 40  # how long a node must be missing before its pods are orphans
    terminated_threshold: int = 12500  # so many pods that have ended may stay; 0: any number


def add_to(manager: Manager, settings: Settings | None = None) -> None:
    pods, nodes = manager.informer(PODS), manager.informer(NODES)
    collector = PodCollector(manager.api, manager.clock, pods, nodes, settings or Settings())
    controller = Controller("pod_garbage_collector", collector)
    manager.add(controller)
    controller.enqueue(CLUSTER)


class PodCollector:
    """The only key is CLUSTER: a pass over all pods."""

    def __init__(self, api: Api, clock: Clock, pods: Informer, nodes: Informer, settings: Settings) -> None:
        self._api, self._clock, self._pods, self._nodes, self._settings = api, clock, pods, nodes, settings
        self._missing_since: dict[str, float] = {}  # nodes that pods name and nobody has

    async def reconcile(self, key: ObjectKey) -> Result:
        pods = self._pods.list()
        nodes = {name_of(node): node for node in self._nodes.list()}
        await self._collect(too_many_ended(pods, self._settings.terminated_threshold))
        await self._collect(out_of_service(pods, nodes))
        await self._collect_orphans(pods, nodes.keys())
        await self._collect(pod for pod in pods if is_being_deleted(pod) and not node_of(pod))
        return RequeueAfter(self._settings.pass_seconds)

    async def _collect_orphans(self, pods: Sequence[Object], present: Iterable[str]) -> None:
        missing = {node_of(pod) for pod in pods} - {"", *present}
        now = self._clock.monotonic()
        self._missing_since = {name: self._missing_since.get(name, now) for name in sorted(missing)}
        gone = {name for name, since in self._missing_since.items() if await self._is_gone(name, now - since)}
        for name in gone:
            del self._missing_since[name]  # what is held by finalizers is looked at again after another quarantine
        await self._collect((pod for pod in pods if node_of(pod) in gone), self._failed_orphan)

    async def _is_gone(self, name: str, missing_seconds: float) -> bool:
        """Asks the server in the end: the cache may lag."""
        if missing_seconds < self._settings.quarantine_seconds:
            return False
        try:
            await self._api.get(NODES, name)
        except NotFound:
            return True
        return False

    async def _collect(self, pods: Iterable[Object], failed: Ending | None = None) -> None:
        attempts = [partial(self._remove, pod, failed or _failed) for pod in pods]
        for error in await at_once(attempts):
            log.warning("could not remove a pod, trying again later", error=str(error))

    async def _remove(self, pod: Object, failed: Ending) -> None:
        """Failed first: nobody else will ever say how the pod ended."""
        if is_terminal(pod) or await patch_status(self._api, pod, failed(pod)):
            await delete(self._api, pod, grace_period_seconds=0)

    def _failed_orphan(self, pod: ReadOnlyObject) -> dict[str, Any]:
        condition = disruption_target(pod, "DeletionByPodGC", "PodGC: node no longer exists")
        return {**_failed(pod), **condition_change(pod, condition, format_time(self._clock.now()))}


def too_many_ended(pods: Iterable[Object], threshold: int) -> list[Object]:
    """Evicted ones first, then the oldest."""
    ended = [pod for pod in pods if phase_of(pod) not in ("Pending", "Running", "Unknown")] if threshold > 0 else []
    return sorted(ended, key=_by_uselessness)[: max(0, len(ended) - threshold)]


def out_of_service(pods: Iterable[Object], nodes: dict[str, Object]) -> list[Object]:
    """Those being deleted on nodes that are not ready and that somebody has declared out of service."""
    dead = {
        name
        for name, node in nodes.items()
        if not is_true(conditions_of(node), "Ready") and any(t.get("key") == _OUT_OF_SERVICE for t in taints_of(node))
    }
    doomed = (pod for pod in pods if is_being_deleted(pod) and node_of(pod) in dead)
    return sorted(doomed, key=_by_uselessness)


def _by_uselessness(pod: ReadOnlyObject) -> tuple[bool, str, str]:
    is_evicted = phase_of(pod) == "Failed" and (pod.get("status") or {}).get("reason") == "Evicted"
    return not is_evicted, metadata(pod).get("creationTimestamp") or "", name_of(pod)


def _failed(pod: ReadOnlyObject) -> dict[str, Any]:
    observed = {"observedGeneration": generation_of(pod)} if generation_of(pod) else {}
    return {"phase": "Failed", **observed}
