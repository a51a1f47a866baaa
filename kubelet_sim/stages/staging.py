"""All that plays stages in a process of simulated nodes: of pods and nodes, of other kinds, and Stages as objects."""

from __future__ import annotations

from collections.abc import Callable

from kubelet_sim.served_kind import ServedKind
from kubelet_sim.settings import Settings
from kubelet_sim.stages.definition import STAGES
from kubelet_sim.stages.kinds import KINDS, KindsReconciler
from kubelet_sim.stages.model import OF_NODES, OF_PODS
from kubelet_sim.stages.objects import StageReconciler
from kubelet_sim.stages.player import StagePlayer
from kubelet_sim.stages.registry import Stages
from kubelet_sim.stages.steps import Steps
from kubelet_sim.stages.surroundings import Surroundings
from kubeloop.apimachinery.releases import git_version
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS
from kubeloop.client.discovery import KindMapper
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager

_COMPONENT = "stages"  # what events of other kinds name as their source
_WORKERS = 8
_DISCOVERY_SECONDS = 2.0  # what a definition changes may show in discovery a little later


class Staging:
    """`pods` and `nodes` are played by the reconcilers of pods and nodes, the others by controllers of their own."""

    def __init__(self, manager: Manager, settings: Settings) -> None:
        self._settings = settings
        self._stages = Stages(settings.stages)
        self._kinds = KindMapper(manager.api)
        self._steps = Steps(manager.api, self._kinds)
        self.surroundings = Surroundings(manager.clock, manager.rng, git_version(settings.kubernetes_version))
        common = (manager.clock, manager.rng, self._stages, self._steps)
        self.pods = StagePlayer(*common, OF_PODS, PODS, removes=True)
        self.nodes = StagePlayer(*common, OF_NODES, NODES)
        self._served: ServedKind | None = None

    def on_change(self, of_pods: Callable[[], None], of_nodes: Callable[[], None]) -> None:
        """Who is to look at all pods, or nodes, when their stages change."""
        self._stages.on_change(OF_PODS, of_pods)
        self._stages.on_change(OF_NODES, of_nodes)

    async def wait_for_sync(self) -> None:
        """Until the Stages that the cluster has are played."""
        if self._served is not None:
            await self._served.wait_for_sync()

    def add_to(self, manager: Manager) -> None:
        """Before it runs. Of several processes that share the nodes the first plays the other kinds."""
        if self._settings.follows_stages:
            self._add_objects(manager)
        plays_others = any(ref not in (OF_PODS, OF_NODES) for ref in self._stages.kinds())
        if self._settings.shard == 0 and (plays_others or self._settings.follows_stages):
            self._add_kinds(manager)

    def _add_objects(self, manager: Manager) -> None:
        writes = self._settings.shard == 0
        recorder = manager.event_recorder(_COMPONENT)
        reconciler = StageReconciler(manager.api, manager.clock, self._stages, recorder, writes)
        controller = Controller("kubelet-stages", reconciler)
        manager.add(controller)
        self._served = ServedKind(manager, STAGES, controller.enqueue, reconciler.refresh)
        reconciler.known = self._served.objects

    def _add_kinds(self, manager: Manager) -> None:
        definitions = manager.informer(CUSTOM_RESOURCE_DEFINITIONS)
        recorder = manager.event_recorder(_COMPONENT)
        reconciler = KindsReconciler(
            manager,
            self._kinds,
            self._stages,
            self._steps,
            self.surroundings,
            recorder,
            lambda key: controller.enqueue(key),
        )
        controller = Controller("kubelet-staged-kinds", reconciler, workers=_WORKERS)
        manager.add(controller)
        controller.enqueue(KINDS)

        def look() -> None:
            controller.enqueue(KINDS)
            controller.enqueue_after(KINDS, _DISCOVERY_SECONDS)

        definitions.add_handler(lambda delta: look())
        self._stages.on_change_of_others(lambda: controller.enqueue(KINDS))
