"""The container runtime that really runs containers: it brings processes to what pods' plans say, level-triggered.

A container with a command is run, one without is simulated as on any other stack. Processes do not outlive this one; a
container that its status says runs and that is not here has been lost, and restarts as its policy says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from kubelet_sim import changes, moments, probing
from kubelet_sim.observations import LOST, LOST_CODE, Checked, Ended, Observation, Told
from kubelet_sim.probes import Kind
from kubelet_sim.process import volumes
from kubelet_sim.process.live import LiveContainer
from kubelet_sim.process.machine import Machine
from kubelet_sim.process.run_log import RunLog
from kubelet_sim.process.trees import remove_tree
from kubelet_sim.process.world import Places, pod_directory, pods_directory
from kubelet_sim.scene import Scene
from kubelet_sim.state import UP, Happening, PodRuntime, PodSpec, State
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.times import moment_after
from kubeloop.client.api import Api

_KEPT_LOGS = 2  # of a container: the run under way, or the last one, and the one before

Wake = Callable[[ObjectKey], None]


class ProcessRuntime:
    def __init__(
        self, machine: Machine, api: Api, clock: Clock, wake: Wake, known: Callable[[], Collection[str]]
    ) -> None:
        """`wake`: have a pod reconciled. `known`: the uids of pods that may have something here."""
        self._machine, self._api, self._clock, self._wake, self._known = machine, api, clock, wake, known
        self._tokens = Tokens(api, clock)
        self._live: dict[tuple[str, str], LiveContainer] = {}  # by pod uid and container name
        # What nobody has asked for yet. Of each probe only the last check: the containers there are bound it.
        self._news: dict[str, list[Observation]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._is_ready = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled; then every process is ended."""
        await self._machine.processes.end_strays(self._machine.root_dir)
        self._remove_unknown()
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._is_ready.set()
            await asyncio.Event().wait()

    # --- as a ContainerRuntime

    def runs(self, container: Any) -> bool:
        return bool(container.get("command"))

    def remarks(self, pod: ReadOnlyObject) -> Sequence[Happening]:
        containers = (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])
        simulated = [one["name"] for one in containers if not self.runs(one)]
        told = [
            Happening("Normal", "Simulated", f"Container {name} has no command: its image is not run, but simulated")
            for name in simulated
        ]
        left_out = volumes.kinds_left_out(pod) if len(simulated) < len(containers) else []
        told += [Happening("Warning", "VolumeLeftOut", f"Volume {one} is an empty directory here") for one in left_out]
        return told

    def observed(self, uid: str) -> Sequence[Observation]:
        return self._news.pop(uid, ())

    async def carry_out(self, obj: Object, pod: PodSpec, runtime: PodRuntime) -> None:
        await self._is_ready.wait()
        for spec, container in zip(pod.containers, runtime.containers, strict=False):
            if spec.is_real and not self._has_news(pod.uid, spec.name):
                self._bring_about(obj, Scene(pod, runtime, spec, container, self._clock.now()))

    def forget(self, uid: str) -> None:
        mine = [live for (owner, _), live in self._live.items() if owner == uid]
        for live in mine:
            live.stop(self._clock.now())
        self._news.pop(uid, None)
        if self._tasks is not None and (mine or pod_directory(self._machine.root_dir, uid).exists()):
            self._tasks.create_task(self._remove(uid, mine), name=f"files of {uid}")

    # --- for those who look into containers

    def live(self, uid: str, container: str, run_id: str) -> LiveContainer | None:
        found = self._live.get((uid, container))
        return found if found is not None and found.run_id == run_id else None

    def log(self, uid: str, container: str, run_id: str) -> RunLog:
        """Of a run under way, or of one that is over; empty where there is none."""
        live = self.live(uid, container, run_id)
        return live.log if live else RunLog(Places.of(self._machine.root_dir, uid, container).log(run_id), self._clock)

    # --- acting

    def _bring_about(self, obj: Object, scene: Scene) -> None:
        key, container = (scene.pod.uid, scene.spec.name), scene.container
        live = self._live.get(key)
        if live is not None and live.run_id != _wanted_run(scene):
            live.stop(scene.now)  # its end wakes the pod
        elif live is not None:
            live.pod = obj
            self._guide(live, scene)
        elif container.state is State.CREATING:
            self._start(obj, scene)
        elif container.state is State.RUNNING and container.run is not None:
            lost = Ended(container.name, container.run.id, scene.now, LOST_CODE, LOST)
            self._note(scene.pod.uid, scene.pod.key, lost)

    def _start(self, obj: Object, scene: Scene) -> None:
        assert self._tasks is not None
        uid, pod_key, run_id = scene.pod.uid, scene.pod.key, _wanted_run(scene)

        def report(one: Observation) -> None:
            self._note(uid, pod_key, one)

        live = LiveContainer(
            obj,
            scene.spec,
            run_id,
            scene.pod.grace_seconds,
            self._machine,
            self._api,
            self._tokens,
            self._clock,
            report,
        )
        self._remove_old_logs(uid, scene.spec.name)
        self._live[uid, scene.spec.name] = live
        self._tasks.create_task(self._attend((uid, scene.spec.name), live), name=f"container {scene.spec.name}")

    async def _attend(self, key: tuple[str, str], live: LiveContainer) -> None:
        try:
            await live.run()
        finally:
            del self._live[key]

    def _guide(self, live: LiveContainer, scene: Scene) -> None:
        deadline = _stop_by(scene)
        if deadline is not None:
            if not live.is_stopping and moments.replaced_at(scene) and not scene.runtime.stopping_since:
                message = f"Container {scene.spec.name} definition changed, will be restarted"
                told = Told(scene.spec.name, "Normal", "Killing", message)
                self._note(scene.pod.uid, scene.pod.key, told)
            live.stop(deadline)
        is_running = scene.container.state is State.RUNNING
        live.ask([kind for kind in Kind if is_running and probing.is_asked(scene, kind)])

    def _note(self, uid: str, key: ObjectKey, one: Observation) -> None:
        news = self._news.setdefault(uid, [])
        if isinstance(one, Checked):
            news[:] = [other for other in news if not _is_same_probe(one, other)]
        news.append(one)
        self._wake(key)

    def _has_news(self, uid: str, container: str) -> bool:
        """What is known of the container is out of date: its pod is about to be looked at once more."""
        return any(one.container == container for one in self._news.get(uid, ()))

    # --- files

    async def _remove(self, uid: str, mine: Sequence[LiveContainer]) -> None:
        for live in mine:
            await live.over.wait()
        directory = pod_directory(self._machine.root_dir, uid)
        await self._machine.processes.end_strays(directory)
        await asyncio.to_thread(remove_tree, directory)

    def _remove_unknown(self) -> None:
        """Of pods that have gone while nobody was here."""
        directory = pods_directory(self._machine.root_dir)
        known = set(self._known())
        for path in directory.iterdir() if directory.is_dir() else ():
            if path.name not in known:
                remove_tree(path)

    def _remove_old_logs(self, uid: str, container: str) -> None:
        """One more run is about to begin."""
        logs = Places.of(self._machine.root_dir, uid, container).logs
        folders = sorted(logs.iterdir(), key=lambda path: path.stat().st_mtime_ns) if logs.is_dir() else []
        for folder in folders[: max(0, len(folders) - (_KEPT_LOGS - 1))]:
            remove_tree(folder)


def _wanted_run(scene: Scene) -> str:
    """The id of the run that there should be now; "" for none."""
    container = scene.container
    if container.state is State.CREATING:
        return changes.next_run_id(scene.pod.uid, container)
    return container.run.id if container.state in UP and container.run else ""


def _stop_by(scene: Scene) -> datetime | None:
    """By when the container has to be gone; None while it may stay."""
    told = moments.told_to_stop(scene)
    # While a run is being created the order is still that of the run before, which has obeyed it.
    order = None if scene.container.state is State.CREATING else scene.container.stop_order
    deadlines = []
    if told is not None:
        deadlines.append(moment_after(told, moments.grace_seconds(scene)))
    if order is not None:
        deadlines.append(moment_after(order.at, moments.order_grace_seconds(scene)))
    if scene.container.state is State.RUNNING and moments.replaced_at(scene):
        deadlines.append(moment_after(scene.now, scene.pod.grace_seconds))
    return min(deadlines, default=None)


def _is_same_probe(one: Checked, other: Observation) -> bool:
    return isinstance(other, Checked) and (one.container, one.kind) == (other.container, other.kind)
