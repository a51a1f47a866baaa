"""A living cluster in one event loop: API server, control loops, scheduler and nodes, on virtual time.

    def test_three_replicas_become_pods():
        run_cluster(check, seed=1, processes={"replicaset": a_loop(replicaset.add_to)})

Every process has its own Api, manager and random numbers, and shares nothing with the others but the server; so each
can be stopped, started again or cut off by itself. One seed fixes every uid, suffix and delay: two runs write the
same requests in the same order (`cluster.writes`). Mutation detectors are on.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson

from apiserver.server import ApiServer
from apiserver.storage.interface import Storage
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery import resource as resources
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import AlreadyExists
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.store import Objects
from kubeloop.client.transport import Request, Response, Transport
from kubeloop.client.warning_log import WarningLog
from kubeloop.logs import plain_logs_in_tests
from kubeloop.runtime.manager import Manager, ManagerOptions
from kubeloop.testing.faults.disturbance import Disturbance
from kubeloop.testing.faults.fault import Fault
from kubeloop.testing.transport import InProcessTransport
from kubeloop.testing.virtual_time import DAY_SECONDS, LoopClock, run

if TYPE_CHECKING:
    from apiserver.outgoing.connections import Transports

Found = TypeVar("Found")

BASE_URL = "http://localhost"
# The process names under which the test's own writes, and those of faults, are recorded.
TEST = "test"
FAULTS = "faults"
# Revisions that are remembered for faults that go back in time.
_MAX_HEADS = 1000
_RESOURCES = {(r.api_version, r.kind): r for r in vars(resources).values() if isinstance(r, Resource)}


class Write(NamedTuple):
    """One writing request: who sent what, and when."""

    seconds: float
    process: str
    method: str
    target: str
    body: Any


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process gets from the cluster instead of from flags and the system."""

    api: Api
    clock: Clock
    rng: random.Random


# Runs until cancelled.
Process = Callable[[Surroundings], Coroutine[Any, Any, None]]


def a_loop(add_to: Callable[[Manager], None], *, managed_fields: bool = True) -> Process:
    """A process that runs what `add_to` adds to its manager; `managed_fields` as in its ManagerOptions."""

    async def process(surroundings: Surroundings) -> None:
        options = ManagerOptions(mutation_detector=True, managed_fields=managed_fields)
        surroundings.api.on_warning = WarningLog()
        manager = Manager(surroundings.api, surroundings.clock, surroundings.rng, options)
        add_to(manager)
        await manager.run()

    return process


class Cluster:
    """Made by `run_cluster`. Conditions are awaited with `eventually`, never slept for."""

    def __init__(
        self,
        seed: int,
        processes: Mapping[str, Process],
        storage: Storage,
        tasks: asyncio.TaskGroup,
        webhook_transports: Transports | None = None,
        faults: Mapping[str, Sequence[Fault]] | None = None,
        latency_seconds: float = 0,
    ) -> None:
        self.latency_seconds = latency_seconds
        self.clock = LoopClock()
        self.writes: list[Write] = []
        self.storage = storage
        self._seed, self._processes, self._tasks = seed, dict(processes), tasks
        self._webhook_transports = webhook_transports
        self._starts = 0
        self._is_server_up = False
        self._running: dict[str, asyncio.Task[None]] = {}
        self._transports: dict[str, InProcessTransport] = {}
        self._restarts: dict[str, asyncio.Task[None]] = {}
        self._dying: set[str] = set()
        self._heads: deque[tuple[float, int]] = deque(maxlen=_MAX_HEADS)  # the oldest are forgotten
        self.api = Api(BASE_URL, _Recording(self, TEST))
        self._disturbances = {name: self._disturbance(name, of_it) for name, of_it in (faults or {}).items()}

    # --- the parts

    async def start_server(self) -> None:
        """A new API server over the cluster's storage; clients connect to it from now on."""
        self._starts += 1
        rng = random.Random(f"{self._seed} server {self._starts}")
        self.server = ApiServer(self.storage, self.clock, rng, webhook_transports=self._webhook_transports)
        is_up = asyncio.Event()
        self._server_task = self._tasks.create_task(self._serve(is_up), name="apiserver")
        await is_up.wait()
        self._is_server_up = True
        for transport in self._transports.values():
            transport.refuse(False)

    async def stop_server(self) -> None:
        """As by SIGKILL: connections break, new ones are refused. What was acknowledged stays in the storage."""
        self._is_server_up = False
        for transport in self._transports.values():
            transport.refuse(True)
            transport.cut()
        self._server_task.cancel()
        await asyncio.wait([self._server_task])

    async def _serve(self, is_up: asyncio.Event) -> None:
        async with self.server.running():
            is_up.set()
            await asyncio.Event().wait()

    def start(self, name: str) -> None:
        """Start a process (again)."""
        self._starts += 1
        rng = random.Random(f"{self._seed} {name} {self._starts}")
        transport: Transport = _Recording(self, name)
        clock: Clock = self.clock
        if disturbance := self._disturbances.get(name):
            transport, clock = disturbance.transport(transport), disturbance.clock(clock)
        surroundings = Surroundings(Api(BASE_URL, transport, user_agent=name), clock, rng)
        self._running[name] = self._tasks.create_task(self._live(name, surroundings), name=name)

    async def _live(self, name: str, surroundings: Surroundings) -> None:
        """What breaks while a killed process is unwound concerns nobody."""
        try:
            await self._processes[name](surroundings)
        except Exception:
            if name not in self._dying:
                raise

    async def stop(self, name: str) -> None:
        """End a process in the middle of whatever it is doing; one that is dead already stays so."""
        if name in self._restarts:
            await self._forget_restart(name)
        if name in self._running:
            await self._end(name)

    async def _end(self, name: str) -> None:
        task = self._running.pop(name)
        self._dying.add(name)
        task.cancel()
        await asyncio.wait([task])
        self._dying.discard(name)
        await self.transport(name).aclose()

    def restart(self, name: str, after_seconds: float = 0) -> None:
        """Kill a process from wherever it is, and start it again that much later."""
        if name not in self._restarts:
            self._restarts[name] = self._tasks.create_task(self._restart(name, after_seconds), name=f"restart {name}")

    async def _restart(self, name: str, after_seconds: float) -> None:
        await self._end(name)
        await self.clock.sleep(after_seconds)
        del self._restarts[name]
        self.start(name)

    def _revisions(self, seconds: float) -> Sequence[int]:
        """The storage's revision before each write of the last so many seconds."""
        since = self.clock.monotonic() - seconds
        return [revision for when, revision in self._heads if when >= since]

    async def _forget_restart(self, name: str) -> None:
        restart = self._restarts.pop(name)
        restart.cancel()
        await asyncio.wait([restart])

    def end_faults(self) -> None:
        """From now on nothing goes wrong any more, but that clocks stay wrong. Connections are made anew."""
        for name, disturbance in self._disturbances.items():
            disturbance.end()
            self.cut_off(name)

    def _disturbance(self, name: str, faults: Sequence[Fault]) -> Disturbance:
        other = Api(BASE_URL, _Recording(self, FAULTS))
        kill = partial(self.restart, name)
        return Disturbance(name, faults, self._seed, self.clock, kill, self._revisions, other)

    def cut_off(self, name: str) -> None:
        """Break the connections of one process; it may connect again at once."""
        self.transport(name).cut()

    async def aclose(self) -> None:
        for name in list(self._restarts):
            await self._forget_restart(name)
        for name in list(self._running):
            await self.stop(name)
        for name in (TEST, FAULTS):
            await self.transport(name).aclose()
        await self.stop_server()

    def transport(self, process: str) -> InProcessTransport:
        if process not in self._transports:
            self._transports[process] = InProcessTransport(lambda *call: self.server.app(*call))
            self._transports[process].refuse(not self._is_server_up)
        return self._transports[process]

    # --- what tests do with it

    async def add_service_account(self, namespace: str) -> None:
        """Pods cannot be created without one; `default` has it from the start, whether its loop runs or not."""
        api = Api(BASE_URL, self.transport(TEST))  # not recorded: it belongs to the scenery
        try:
            await api.create(resources.SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace)
        except AlreadyExists:
            return  # the storage was used before

    async def create(self, obj: ReadOnlyObject, resource: Resource | None = None) -> Object:
        return await self.api.create(resource or resource_of(obj), obj)

    async def add_node(self, node: ReadOnlyObject) -> Object:
        """A node without a kubelet that takes pods: the taint it is born with goes, as if the node loop had seen it."""
        taints = (node.get("spec") or {}).get("taints") or []
        return await self.patch(await self.create(node), {"spec": {"taints": taints}})

    async def define(self, definition: ReadOnlyObject) -> Resource:
        """Create a CustomResourceDefinition; returns once its kind is served."""
        created = await self.create(definition)
        while not is_true(conditions_of(await self.read(created)), "Established"):
            await self.clock.sleep(0.1)
        return Resource.defined_by(created)

    async def read(self, obj: ReadOnlyObject, resource: Resource | None = None) -> Object:
        """The object as it is now."""
        return await self.api.get(resource or resource_of(obj), name_of(obj), namespace_of(obj))

    async def patch(self, obj: ReadOnlyObject, patch: Object, resource: Resource | None = None) -> Object:
        """A merge patch."""
        return await self.api.patch(resource or resource_of(obj), name_of(obj), patch, namespace_of(obj))

    async def delete(self, obj: ReadOnlyObject, resource: Resource | None = None, **options: Any) -> Object:
        return await self.api.delete(resource or resource_of(obj), name_of(obj), namespace_of(obj), **options)

    async def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> Objects:
        return (await self.api.list(resource, namespace, label_selector=label_selector))["items"]

    async def eventually(
        self,
        condition: Callable[[], Found | Coroutine[Any, Any, Found]],
        within_seconds: float = 60,
        every_seconds: float = 0.1,
    ) -> Found:
        """What `condition` returns once that is true; an AssertionError with its last answer where it never is."""
        deadline = self.clock.monotonic() + within_seconds
        while True:
            outcome = condition()
            found: Found = await outcome if inspect.isawaitable(outcome) else outcome
            if found:
                return found
            if self.clock.monotonic() >= deadline:
                raise AssertionError(f"not within {within_seconds:g} virtual seconds; the last answer was {found!r}")
            await self.clock.sleep(every_seconds)

    async def settled(self, quiet_seconds: float = 5, within_seconds: float = 600) -> None:
        """Until nobody has written anything but leases and events for a while."""

        def is_quiet() -> bool:
            last = next((write.seconds for write in reversed(self.writes) if not _is_background(write)), 0.0)
            return self.clock.monotonic() - last >= quiet_seconds

        await self.eventually(is_quiet, within_seconds + quiet_seconds)

    def record(self, process: str, request: Request) -> None:
        body = orjson.loads(request.body) if request.body else None
        self._heads.append((self.clock.monotonic(), self.storage.head))
        self.writes.append(Write(self.clock.monotonic(), process, request.method, request.target, body))


def run_cluster(
    check: Callable[[Cluster], Coroutine[Any, Any, Found]],
    *,
    processes: Mapping[str, Process] | None = None,
    seed: int = 0,
    storage: Storage | None = None,
    limit_seconds: float = DAY_SECONDS,
    webhook_transports: Transports | None = None,
    faults: Mapping[str, Sequence[Fault]] | None = None,
    latency_seconds: float = 0,
) -> Found:
    """Start a cluster on virtual time, run `check` in it, stop it; what `check` raises comes out as it is.

    `latency_seconds`: what a request takes; at 0, two loops that undo each other's work do so for ever at one moment.
    `faults`: what goes wrong for which process (kubeloop.testing.faults), until `cluster.end_faults()`.
    `webhook_transports` makes the httpx transport that webhooks are called through: without one, sockets in real time.
    A process that breaks ends the run with an ExceptionGroup that holds its error.
    """

    async def main() -> Found:
        async with asyncio.TaskGroup() as tasks:
            cluster = Cluster(
                seed, processes or {}, storage or MemoryStorage(), tasks, webhook_transports, faults, latency_seconds
            )
            try:
                await cluster.start_server()
                await cluster.add_service_account("default")
                for name in processes or {}:
                    cluster.start(name)
                outcome = await check(cluster)
            except Exception as error:
                failure: Exception | None = error
            else:
                failure = None
            finally:
                await cluster.aclose()
        if failure is not None:
            raise failure
        return outcome

    plain_logs_in_tests()
    return run(main(), seed, limit_seconds)


def resource_of(obj: ReadOnlyObject) -> Resource:
    """The well-known resource of an object's kind."""
    try:
        return _RESOURCES[obj["apiVersion"], obj["kind"]]
    except KeyError:
        raise LookupError(f"no well-known resource for {obj.get('apiVersion')} {obj.get('kind')}: pass one") from None


class _Recording:
    """A process' transport, which notes every write before it is sent."""

    def __init__(self, cluster: Cluster, process: str) -> None:
        self._cluster, self._process = cluster, process

    async def send(self, request: Request) -> Response:
        if self._cluster.latency_seconds:
            await self._cluster.clock.sleep(self._cluster.latency_seconds)
        if request.method != "GET":
            self._cluster.record(self._process, request)
        return await self._cluster.transport(self._process).send(request)

    async def aclose(self) -> None:
        await self._cluster.transport(self._process).aclose()


def _is_background(write: Write) -> bool:
    return "/leases" in write.target or "/events" in write.target
