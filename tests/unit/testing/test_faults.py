"""What each fault does to a process, seen from the process and from the server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from kubeloop.apimachinery.errors import ApiError, Conflict, Expired
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.client.store import Delta
from kubeloop.client.transport import ConnectionFailed
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, Process, Surroundings, run_cluster
from kubeloop.testing.faults import (
    CutWatches,
    DelayRequests,
    DriftClock,
    DropEvents,
    ExpireWatches,
    Fault,
    KillAfterWrite,
    KillBeforeWrite,
    LoseAnswers,
    RaceWrites,
    RefuseRequests,
    ReorderEvents,
    RepeatEvents,
    ReplayEvents,
    SkewClock,
    StaleLists,
    StallWatches,
)

Act = Callable[[Surroundings], Coroutine[Any, Any, None]]


def lives(act: Act, count: list[int]) -> Process:
    """A process that counts its lives, acts in each, and then idles."""

    async def process(surroundings: Surroundings) -> None:
        count.append(1)
        await act(surroundings)
        await surroundings.clock.sleep(10_000)

    return process


def play(act: Act, *faults: Fault, seconds: float = 60) -> tuple[int, list[str]]:
    """How many lives it took, and the ConfigMaps there are in the end."""
    count: list[int] = []

    async def check(cluster: Cluster) -> list[str]:
        await cluster.clock.sleep(seconds)
        return sorted(map(name_of, await cluster.list(CONFIG_MAPS, "default")))

    found = run_cluster(check, processes={"one": lives(act, count)}, faults={"one": faults})
    return len(count), found


async def make(surroundings: Surroundings) -> None:
    await surroundings.api.create(CONFIG_MAPS, a_config_map(f"from-{surroundings.clock.monotonic():g}"))


def test_a_process_killed_before_its_write_has_not_written() -> None:
    """It comes back after its time, and the next life writes."""
    assert (2, ["from-3"]) == play(make, KillBeforeWrite(1.0, limit=1, down_seconds=3))


def test_a_process_killed_after_its_write_has_written() -> None:
    """Each life leaves one object, up to the limit of deaths."""
    assert (3, ["from-0", "from-3", "from-6"]) == play(make, KillAfterWrite(1.0, limit=2, down_seconds=3))


def test_a_killed_process_writes_no_more_while_it_is_unwound() -> None:
    """Its last words go nowhere."""

    async def act(surroundings: Surroundings) -> None:
        try:
            await make(surroundings)
        finally:
            await surroundings.api.create(CONFIG_MAPS, a_config_map(f"last-{surroundings.clock.monotonic():g}"))

    assert (2, ["from-3", "last-3"]) == play(act, KillBeforeWrite(1.0, limit=1, down_seconds=3))


def test_a_lost_answer_is_of_a_write_that_happened() -> None:
    """The process hears of a broken connection."""
    heard: list[type[BaseException]] = []

    async def act(surroundings: Surroundings) -> None:
        try:
            await make(surroundings)
        except ApiError as error:
            heard.append(type(error))

    assert (1, ["from-0"]) == play(act, LoseAnswers(1.0))
    assert [ConnectionFailed] == heard


def test_a_refused_request_has_no_effect() -> None:
    """Until the limit is reached."""
    heard: list[int] = []

    async def act(surroundings: Surroundings) -> None:
        for _ in range(3):
            try:
                await make(surroundings)
            except ApiError as error:
                heard.append(error.code)

    assert (1, ["from-0"]) == play(act, RefuseRequests(1.0, limit=2))
    assert 2 == len(heard) and set(heard) <= {429, 500, 503, 504}


def test_somebody_else_is_faster() -> None:
    """The version that was read is old when it is written."""
    heard: list[type[BaseException]] = []

    async def act(surroundings: Surroundings) -> None:
        made = await surroundings.api.create(CONFIG_MAPS, a_config_map("raced"))
        try:
            await surroundings.api.update(CONFIG_MAPS, {**made, "data": {"a": "b"}})
        except ApiError as error:
            heard.append(type(error))

    assert (1, ["raced"]) == play(act, RaceWrites(1.0))
    assert [Conflict] == heard


def test_requests_take_their_time() -> None:
    """There and back."""
    took: list[float] = []

    async def act(surroundings: Surroundings) -> None:
        await make(surroundings)
        took.append(surroundings.clock.monotonic())

    play(act, DelayRequests(2.0))

    assert 0 < took[0] <= 4


@pytest.mark.parametrize(
    ("fault", "now", "slept"), [(SkewClock(-300.0), -300.0, 10.0), (DriftClock(2.0), 0.0, 5.0)], ids=str
)
def test_clocks_are_wrong(fault: Fault, now: float, slept: float) -> None:
    """A skewed one from the start, one that drifts more and more; both go on after the end of all faults."""
    seen: list[Any] = []

    async def act(surroundings: Surroundings) -> None:
        seen.append(surroundings.clock.now())
        await surroundings.clock.sleep(10)
        seen.append(surroundings.clock.now())

    async def check(cluster: Cluster) -> tuple[float, float]:
        begin = cluster.clock.now()
        cluster.end_faults()
        await cluster.eventually(lambda: len(seen) == 2)
        return (seen[0] - begin) / timedelta(seconds=1), cluster.clock.monotonic()

    offset, really = run_cluster(check, processes={"one": lives(act, [])}, faults={"one": (fault,)})

    assert now == offset
    assert timedelta(seconds=10) == seen[1] - seen[0]
    assert slept <= really < slept + 0.2


# --- what an informer sees


class Watcher:
    """An informer that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.relists = 0
        self.informer: Informer | None = None

    async def run(self, surroundings: Surroundings) -> None:
        scope = Scope(CONFIG_MAPS, "default")
        self.informer = informer = Informer(surroundings.api, scope, surroundings.clock, surroundings.rng)
        informer.add_handler(self._note)
        informer.add_relist_handler(self._count)
        await informer.run()

    def known(self) -> dict[str, str]:
        assert self.informer is not None
        return {name_of(obj): obj.get("data", {}).get("n", "") for obj in self.informer.list()}

    def _note(self, delta: Delta) -> None:
        self.told.append((name_of(delta.obj), delta.obj.get("data", {}).get("n", "")))

    def _count(self) -> None:
        self.relists += 1


async def change(cluster: Cluster, count: int = 4) -> None:
    """Two objects, each changed so many times, one change a second."""
    maps = [await cluster.create(a_config_map(name, n="0")) for name in ("a", "b")]
    for i in range(1, count + 1):
        await cluster.clock.sleep(1)
        for obj in maps:
            await cluster.patch(obj, {"data": {"n": str(i)}})


def watched(*faults: Fault, then: Callable[[Cluster], Coroutine[Any, Any, None]] = change) -> Watcher:
    """What the watcher was told while `then` went on, and until faults have ended."""
    watcher = Watcher()

    async def check(cluster: Cluster) -> None:
        await then(cluster)
        await cluster.clock.sleep(5)
        cluster.end_faults()
        await cluster.clock.sleep(60)

    run_cluster(check, processes={"watcher": watcher.run}, faults={"watcher": faults})
    return watcher


def of(told: list[tuple[str, str]], name: str) -> list[str]:
    return [n for who, n in told if who == name]


IN_ORDER = ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("fault", [StallWatches(3.0), ReorderEvents(3.0), CutWatches(2.0)], ids=str)
def test_each_object_is_told_of_in_order(fault: Fault) -> None:
    """Late, mixed or after a cut: nothing is missed, nothing of one object overtakes."""
    watcher = watched(fault)

    assert (IN_ORDER, IN_ORDER) == (of(watcher.told, "a"), of(watcher.told, "b"))


def test_events_of_different_objects_change_places() -> None:
    """Somewhere b comes before a."""
    turns = [name for name, _ in watched(ReorderEvents(3.0)).told if name in "ab"]

    assert ["a", "b"] * 5 != turns


def test_events_come_twice() -> None:
    """In a row."""
    assert [n for n in IN_ORDER for _ in range(2)] == of(watched(RepeatEvents(1.0)).told, "a")


def test_dropped_events_are_made_good_by_a_list() -> None:
    """In the meantime the informer knows nothing; a 410 comes in time, without which nobody would notice."""
    watcher = watched(DropEvents(1.0, heal_seconds=1000.0))

    assert {"a": "4", "b": "4"} == {k: v for k, v in watcher.known().items() if k in "ab"}
    assert 1 == watcher.relists - 1


def test_old_events_are_told_again() -> None:
    """A resumed watch begins before where it ended."""

    async def change_and_cut(cluster: Cluster) -> None:
        await change(cluster)
        cluster.cut_off("watcher")
        await cluster.clock.sleep(5)

    told = of(watched(ReplayEvents(60.0), then=change_and_cut).told, "a")

    assert IN_ORDER == told[:5] and len(told) > 5
    assert "4" == told[-1]


def test_a_watch_expires_and_everything_is_listed() -> None:
    """More than once, as often as the limit says at most."""
    watcher = watched(ExpireWatches(1.0, limit=3))

    assert 2 <= watcher.relists <= 4
    assert {"a": "4", "b": "4"} == {k: v for k, v in watcher.known().items() if k in "ab"}


def test_a_list_after_a_restart_is_old() -> None:
    """A moment of the last seconds; what came since is told by the watch."""

    async def change_and_restart(cluster: Cluster) -> None:
        await change(cluster)
        await cluster.stop("watcher")
        cluster.start("watcher")
        await cluster.clock.sleep(1)

    told = of(watched(StaleLists(1000.0), then=change_and_restart).told, "a")

    assert IN_ORDER == told[:5]
    assert "4" == told[-1]


def test_a_direct_list_is_not_old() -> None:
    """Who asks the server himself gets what is."""
    seen: list[list[Object]] = []

    async def act(surroundings: Surroundings) -> None:
        await make(surroundings)
        seen.append((await surroundings.api.list(CONFIG_MAPS, "default"))["items"])

    play(act, StaleLists(1000.0))

    assert ["from-0"] == list(map(name_of, seen[0]))


def test_the_first_to_hear_of_a_dropped_event_is_told_expired() -> None:
    """A watch that lost something is not resumed."""

    async def act(surroundings: Surroundings) -> None:
        events = surroundings.api.watch(CONFIG_MAPS, "default", resource_version="1", timeout_seconds=1)
        async for _ in events:
            pass
        with pytest.raises(Expired):
            async for _ in surroundings.api.watch(CONFIG_MAPS, "default", resource_version="1", timeout_seconds=1):
                pass

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("a"))
        await cluster.clock.sleep(5)

    run_cluster(check, processes={"one": act_and_idle(act)}, faults={"one": (DropEvents(1.0, 1000.0),)})


def act_and_idle(act: Act) -> Process:
    return lives(act, [])
