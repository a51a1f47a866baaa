"""What a loop process runs: shared informers, controllers and event recorders in one TaskGroup.

Start order: informers, and when all of them know the world, controllers. Nothing that goes wrong inside the machinery
is swallowed: it ends the manager with the error. Loops are added by their `add_to(manager)`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.runtime.controller import Controller, Surroundings
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.reader import CachedReader
from kubeloop.runtime.serving import Check

if TYPE_CHECKING:
    from kubeloop.runtime.metrics import RuntimeMetrics

log = structlog.get_logger(__name__)

STOP_SECONDS = 5.0

Task = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """`stop_seconds`: how long a graceful stop waits for reconciles under way and events not yet sent.

    `managed_fields`: whether informers keep those of objects. Without them an informer takes half the memory and less
    CPU, as those of kube-controller-manager do; written back so, an object keeps the ones it has.
    """

    mutation_detector: bool = False
    metrics: RuntimeMetrics | None = None
    stop_seconds: float = STOP_SECONDS
    managed_fields: bool = True


class Manager:
    def __init__(self, api: Api, clock: Clock, rng: random.Random, options: ManagerOptions | None = None) -> None:
        self.api, self.clock, self.rng = api, clock, rng
        self.options = options or ManagerOptions()
        self._informers: dict[Scope, Informer] = {}
        self._informer_tasks: dict[Scope, asyncio.Task[None]] = {}
        self._recorders: dict[tuple[str, str], EventRecorder] = {}
        self._controllers: list[Controller] = []
        self._tasks: list[tuple[str, Task]] = []
        self.healthz_checks: dict[str, Check] = {}
        self.readyz_checks: dict[str, Check] = {}
        self._running: asyncio.TaskGroup | None = None
        self._stop_asked = asyncio.Event()
        self._is_ready = False

    @property
    def is_running(self) -> bool:
        return self._running is not None

    @property
    def is_ready(self) -> bool:
        """Informers have synced and controllers run."""
        return self._is_ready

    def informer(
        self,
        resource: Resource,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        *,
        metadata_only: bool = False,
    ) -> Informer:
        """The shared informer of these arguments. Asked for while the manager runs, it starts at once.

        `metadata_only`: its objects have apiVersion, kind and metadata, and the rest is not even transferred.
        """
        scope = Scope(resource, namespace, label_selector, field_selector, metadata_only)
        if scope not in self._informers:
            informer = Informer(
                self.api,
                scope,
                self.clock,
                self.rng,
                mutation_detector=self.options.mutation_detector,
                managed_fields=self.options.managed_fields,
            )
            self._informers[scope] = informer
            if self._running is not None:
                self._start_informer(self._running, informer)
        return self._informers[scope]

    def metadata_informer(self, resource: Resource) -> Informer:
        """For who reads only metadata: of whole objects where somebody mirrors them already, else of metadata only."""
        whole = self._informers.get(Scope(resource))
        return whole or self.informer(resource, metadata_only=True)

    def drop_informer(self, informer: Informer) -> None:
        """Stop mirroring what is no longer served. Whoever asks for it again gets a new informer."""
        self._informers.pop(informer.scope, None)
        task = self._informer_tasks.pop(informer.scope, None)
        if task is not None:
            task.cancel()

    def reader(self, uncached: Collection[Resource] = ()) -> CachedReader:
        """Reads by name and by list out of informers; those of the resources in `uncached` go to the API server."""
        return CachedReader(self.api, self.informer, uncached)

    def event_recorder(self, component: str, host: str = "") -> EventRecorder:
        """The shared recorder of a component; its events are sent while the manager runs."""
        if (component, host) not in self._recorders:
            recorder = EventRecorder(self.api, component, self.clock, self.rng, host, self.options.metrics)
            self._recorders[component, host] = recorder
            if self._running is not None:
                self._running.create_task(recorder.run(), name=f"events of {component}")
        return self._recorders[component, host]

    def add(self, controller: Controller) -> None:
        """Before `run`. ValueError where the name is taken: logs and metrics tell controllers apart by it."""
        if any(other.name == controller.name for other in self._controllers):
            raise ValueError(f"there is a controller {controller.name} already")
        verify = self._verify_caches if self.options.mutation_detector else None
        controller.prepare(Surroundings(self.clock, self.options.metrics, verify))
        self._controllers.append(controller)

    def add_task(self, name: str, task: Task) -> None:
        """Something that is no controller (a periodic sweep): runs beside them, once informers have synced."""
        self._tasks.append((name, task))

    def add_healthz_check(self, name: str, fails: Check) -> None:
        """Before `run`: `fails` says why the process had better be started anew, or "" where all is well."""
        self.healthz_checks[name] = fails

    def add_readyz_check(self, name: str, fails: Check) -> None:
        """Before `run`: `fails` says why the process is not ready to be relied on, or ""."""
        self.readyz_checks[name] = fails

    async def run(self) -> None:
        """Until `stop` (returns), cancellation, or the first error of anything that runs here (raises it)."""
        try:
            async with asyncio.TaskGroup() as group:
                self._running = group
                self._start_informers_and_recorders(group)
                group.create_task(self._start_controllers(group), name="start controllers")
                await self._stop_asked.wait()
                await self._finish_work()
                raise _Stopped
        except* _Stopped:
            log.debug("stopped")
        finally:
            self._running, self._is_ready = None, False

    def stop(self) -> None:
        """Ask for a graceful end: reconciles under way finish, events are sent, then everything is cancelled."""
        self._stop_asked.set()

    async def wait_for_sync(self) -> None:
        """Until every informer asked for so far knows the world."""
        for informer in list(self._informers.values()):
            await informer.wait_for_sync()

    def _start_informers_and_recorders(self, group: asyncio.TaskGroup) -> None:
        for informer in self._informers.values():
            self._start_informer(group, informer)
        for (component, _), recorder in self._recorders.items():
            group.create_task(recorder.run(), name=f"events of {component}")

    def _start_informer(self, group: asyncio.TaskGroup, informer: Informer) -> None:
        task = group.create_task(informer.run(), name=f"informer {informer.scope}")
        self._informer_tasks[informer.scope] = task

    async def _start_controllers(self, group: asyncio.TaskGroup) -> None:
        await self.wait_for_sync()
        for controller in self._controllers:
            group.create_task(controller.run(), name=controller.name)
        for name, task in self._tasks:
            group.create_task(task(), name=name)
        self._is_ready = True
        log.debug("controllers started", controllers=[controller.name for controller in self._controllers])

    async def _finish_work(self) -> None:
        try:
            async with asyncio.timeout(self.options.stop_seconds):
                for controller in self._controllers:
                    controller.queue.shut_down()
                for controller in self._controllers:
                    await controller.queue.wait_until_nothing_runs()
                for recorder in self._recorders.values():
                    await recorder.flush()
        except TimeoutError:
            log.warning("stopping without waiting longer", waited_seconds=self.options.stop_seconds)
        self._verify_caches(everything=True)

    def _verify_caches(self, everything: bool = False) -> None:
        for informer in self._informers.values():
            informer.store.verify(everything)


class _Stopped(Exception):
    """Ends the TaskGroup of a manager that was asked to stop."""
