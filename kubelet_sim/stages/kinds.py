"""Plays the stages of all kinds but pods and nodes: each is watched while it has stages and is served.

One controller for all of them. Its keys say the kind before the name; the key without a name looks which kinds there
are to watch, level-triggered: stages come and go, and so do CustomResourceDefinitions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kubelet_sim.stages.model import OF_NODES, OF_PODS, ResourceRef
from kubelet_sim.stages.player import StagePlayer
from kubelet_sim.stages.registry import Stages
from kubelet_sim.stages.steps import Steps
from kubelet_sim.stages.surroundings import Surroundings
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ObjectKey, key_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.discovery import KindMapper, NoMatch
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result

KINDS = ObjectKey("", "")
_LOOK_AGAIN_SECONDS = 10.0  # for a kind that nobody serves and no CustomResourceDefinition announces


@dataclass(frozen=True, slots=True)
class _Watched:
    resource: Resource
    informer: Informer
    player: StagePlayer


class KindsReconciler:
    def __init__(
        self,
        manager: Manager,
        kinds: KindMapper,
        stages: Stages,
        steps: Steps,
        surroundings: Surroundings,
        recorder: EventRecorder,
        enqueue: Callable[[ObjectKey], None],
    ) -> None:
        self._manager, self._kinds = manager, kinds
        self._clock: Clock = manager.clock
        self._rng: random.Random = manager.rng
        self._stages, self._steps, self._surroundings = stages, steps, surroundings
        self._recorder, self._enqueue = recorder, enqueue
        self._watched: dict[ResourceRef, _Watched] = {}

    async def reconcile(self, key: ObjectKey) -> Result:
        if key == KINDS:
            return await self._look()
        api_version, kind, name = key.name.split(" ", 2)
        ref = ResourceRef(api_version, kind)
        watched = self._watched.get(ref)
        obj = watched.informer.get(ObjectKey(key.namespace, name)) if watched else None
        if watched is None or obj is None:
            return DONE
        if not watched.player.takes(obj):
            watched.player.forget(key_of(obj))
            return DONE
        return await watched.player.play(obj, self._recorder, self._surroundings.functions, _nothing_is_kept)

    async def _look(self) -> Result:
        """What is not served (as that) is watched no more; kinds without stages stay, for stages that come back."""
        for ref, watched in list(self._watched.items()):
            self._kinds.forget(watched.resource)
            if await self._resource(ref) != watched.resource:
                del self._watched[ref]
                self._manager.drop_informer(watched.informer)
        wanted = [ref for ref in self._stages.kinds() if ref not in (OF_PODS, OF_NODES)]
        is_missing = [not await self._is_watched(ref) for ref in wanted]
        for ref in wanted:
            self._look_at_all(ref)
        return RequeueAfter(_LOOK_AGAIN_SECONDS) if any(is_missing) else DONE

    async def _resource(self, ref: ResourceRef) -> Resource | None:
        try:
            return await self._kinds.resource(*ref)
        except NoMatch:
            return None

    async def _is_watched(self, ref: ResourceRef) -> bool:
        if ref in self._watched:
            return True
        resource = await self._resource(ref)
        if resource is None:
            return False
        player = StagePlayer(self._clock, self._rng, self._stages, self._steps, ref, resource)
        informer = self._manager.informer(resource)
        self._watched[ref] = _Watched(resource, informer, player)
        informer.add_handler(lambda delta: self._note(ref, player, delta))
        return True

    def _note(self, ref: ResourceRef, player: StagePlayer, delta: Delta) -> None:
        if delta.new is None:
            player.forget(key_of(delta.obj))
        else:
            self._enqueue(_key(ref, key_of(delta.new)))

    def _look_at_all(self, ref: ResourceRef) -> None:
        watched = self._watched.get(ref)
        for key in watched.informer.object_keys() if watched else ():
            self._enqueue(_key(ref, key))


def _key(ref: ResourceRef, key: ObjectKey) -> ObjectKey:
    """No API version or kind has a space in it."""
    return ObjectKey(key.namespace, f"{ref.api_version} {ref.kind} {key.name}")


def _nothing_is_kept(answer: object) -> None:
    """The informer will tell: of these kinds nothing is decided before it does."""
