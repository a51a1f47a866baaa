"""Is a controller level-triggered? Its scenario is played twice, once in peace and once under faults, and has to end
the same: the same objects, no child too many, no orphan, and nobody who goes on writing.

    CAFES = Scenario("cafe", {"cafe": a_loop(cafe.add_to)}, script=open_and_close)
    run = play(CAFES, seed=17, faults={"cafe": (KillAfterWrite(), DropEvents())})
    assert not run.problems, run.problems

A script is a user's actions, and waits only for what it could wait for under faults: with patience. Faults go on for a
while after its last action, then they end (clocks stay wrong), and the cluster has `heal_seconds` to become what it
became in peace and to stay quiet for `quiet_seconds`. `laws` hold at every moment, but for runs under a fault that
`may_double`.
"""

from __future__ import annotations

import asyncio
import hashlib
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.storage.interface import Change, Key
from kubeloop.apimachinery.meta import Object, is_being_deleted
from kubeloop.testing.cluster import FAULTS, TEST, Cluster, Process, Write, run_cluster
from kubeloop.testing.end_state import Reduce, difference, end_state, keep_everything
from kubeloop.testing.faults.fault import Fault

# The objects that exist, by key, as the server has them.
Live = Mapping[Key, Object]
# Called after each committed change: what is wrong with the world, "" for nothing. The dicts are not to be edited.
Law = Callable[[Live, Change], str]

_BATCH = 500
# More than any scenario has use for: a run ends here that would never end.
_MAX_CHANGES = 6000
_STEP_SECONDS = 5.0
# How long faults go on once the script is over.
_AFTERMATH_SECONDS = 20.0
_LATENCY_SECONDS = 0.002
_LIMIT_SECONDS = 30 * 86_400.0


def at_most(count: int, resource: str, what: str, where: Callable[[Object], bool]) -> Law:
    """No more than so many objects of a resource ("pods", "jobs.batch") that are not on their way out."""

    def law(live: Live, change: Change) -> str:
        if change.key.resource != resource:
            return ""
        found = [key.name for key, obj in live.items() if key.resource == resource and is_counted(obj) and where(obj)]
        return (
            f"{len(found)} {what}, no more than {count} are allowed: {', '.join(found)}" if len(found) > count else ""
        )

    def is_counted(obj: Object) -> bool:
        is_over = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return not is_being_deleted(obj) and not is_over

    return law


class EndlessWrites(Exception):
    """Somebody writes and writes."""


@dataclass(frozen=True)
class Scenario:
    """`processes` run from the start; faults are for those in `subjects` (by default the first) before all others.

    `reduce` leaves out of the end state what may differ. `spared`: faults under which it cannot end the same, and may
    not have to; say why beside it. `is_idle` tells the writes of a cluster at rest (heartbeats).
    """

    name: str
    processes: Mapping[str, Process]
    script: Callable[[Cluster], Coroutine[Any, Any, None]]
    subjects: tuple[str, ...] = ()
    reduce: Reduce = keep_everything
    laws: tuple[Law, ...] = ()
    spared: tuple[type[Fault], ...] = ()
    is_idle: Callable[[Write], bool] = lambda write: False
    heal_seconds: float = 1800.0
    quiet_seconds: float = 120.0

    @property
    def disturbed(self) -> tuple[str, ...]:
        return self.subjects or tuple(self.processes)[:1]


@dataclass(frozen=True)
class Run:
    """What came of it. `problems` is empty where all is well; `digest` is of all writes, in order."""

    scenario: str
    state: Sequence[str]
    writes: Sequence[Write]
    problems: Sequence[str] = ()
    digest: str = field(default="")


def play(
    scenario: Scenario,
    seed: int = 0,
    faults: Mapping[str, Sequence[Fault]] | None = None,
    wanted: Sequence[str] | None = None,
) -> Run:
    """One run. `wanted`: the end state to reach; without one, the state in which the cluster comes to rest."""
    may_double = any(fault.may_double for of_one in (faults or {}).values() for fault in of_one)
    stage = _Stage(scenario, wanted, () if may_double else scenario.laws)
    try:
        run_cluster(
            stage.perform,
            processes=scenario.processes,
            seed=seed,
            faults=faults,
            limit_seconds=_LIMIT_SECONDS,
            latency_seconds=_LATENCY_SECONDS,
        )
    except Exception as error:
        stage.problems.append("".join(traceback.format_exception(error)))
    digest = hashlib.sha256(repr(stage.writes).encode()).hexdigest()[:16]
    return Run(scenario.name, stage.state, stage.writes, tuple(stage.problems), digest)


class _Stage:
    """The play in progress."""

    def __init__(self, scenario: Scenario, wanted: Sequence[str] | None, laws: Sequence[Law]) -> None:
        self._scenario, self._wanted, self._laws = scenario, wanted, laws
        self.problems: list[str] = []
        self.state: Sequence[str] = ()
        self.writes: list[Write] = []

    async def perform(self, cluster: Cluster) -> None:
        self.writes = cluster.writes
        history = _History(cluster, self._laws, self.problems)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(history.follow(), name="history")
            try:
                await self._scenario.script(cluster)
                await cluster.clock.sleep(_AFTERMATH_SECONDS)
                cluster.end_faults()
                await self._come_to_rest(cluster, history)
            finally:
                following.cancel()

    async def _come_to_rest(self, cluster: Cluster, history: _History) -> None:
        """Until the state is the wanted one and nobody has written for long enough; what is missing is a problem."""
        clock = cluster.clock
        deadline = clock.monotonic() + self._scenario.heal_seconds
        seen = -1
        while True:
            if seen != len(cluster.writes):
                seen = len(cluster.writes)
                self.state = await history.state(self._scenario.reduce)
            is_as_wanted = self._wanted is None or self.state == self._wanted
            if is_as_wanted and self._quiet_since(cluster) + self._scenario.quiet_seconds <= clock.monotonic():
                return
            if clock.monotonic() >= deadline:
                break
            await clock.sleep(_STEP_SECONDS)
        if self._wanted is not None and self.state != self._wanted:
            self.problems.append(f"it ended in another state:\n{difference(self._wanted, self.state)}")
        else:
            last = [str(write) for write in cluster.writes if not self._is_idle(write)][-5:]
            self.problems.append("\n".join(["it does not stop writing:", *last]))

    def _quiet_since(self, cluster: Cluster) -> float:
        return next((write.seconds for write in reversed(cluster.writes) if not self._is_idle(write)), 0.0)

    def _is_idle(self, write: Write) -> bool:
        if write.process in (TEST, FAULTS) or "/leases" in write.target or "/events" in write.target:
            return True
        return self._scenario.is_idle(write)


class _History:
    """Follows the server's log from now on: which objects there are, and whether a law was broken on the way."""

    def __init__(self, cluster: Cluster, laws: Sequence[Law], problems: list[str]) -> None:
        self._storage, self._clock, self._laws, self._problems = cluster.storage, cluster.clock, laws, problems
        self._since = self._storage.head
        self._live: dict[Key, Object] = {}
        self._prefixes: dict[str, None] = {}
        self._broken: set[Law] = set()

    async def follow(self) -> None:
        at = self._since
        while True:
            await self._storage.wait_for_changes(at)
            for change in await self._storage.changes_after(at, _BATCH):
                at = change.revision
                self._take(change)
            if at - self._since > _MAX_CHANGES:
                raise EndlessWrites(f"more than {_MAX_CHANGES} changes; the last is of {change.key}")

    async def state(self, reduce: Reduce) -> Sequence[str]:
        _, stored = await self._storage.snapshot()
        return end_state((one for one in stored if one.revision > self._since), self._prefixes, reduce)

    def _take(self, change: Change) -> None:
        if change.current is None:
            self._live.pop(change.key, None)
        else:
            obj = self._live[change.key] = change.current.object()
            if prefix := obj["metadata"].get("generateName"):
                self._prefixes[prefix] = None
        for law in self._laws:
            if law not in self._broken and (wrong := law(self._live, change)):
                self._broken.add(law)
                self._problems.append(f"after {self._clock.monotonic():.3f} s: {wrong}")
