"""Controllers over the real API server: sources, the four ends of a reconcile, stopping, and repeatability."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from kubeloop.apimachinery.meta import ObjectKey, name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, SECRETS
from kubeloop.client.informer import Informer
from kubeloop.client.store import CacheMutated
from kubeloop.runtime import DONE, Controller, For, Manager, ManagerOptions, Owns, RequeueAfter, Result, TerminalError
from kubeloop.runtime.apply import create_or_update
from kubeloop.runtime.ownership import set_controller_reference
from kubeloop.runtime.predicates import labels_changed
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, Write, a_loop, run_cluster

WEB = ObjectKey("default", "web")


class Recorded:
    """A controller of ConfigMaps named web that notes when it runs and does what the test says."""

    def __init__(self, behave: Callable[[int], Awaitable[Result]]) -> None:
        self.times: list[float] = []
        self._behave = behave

    def add_to(self, manager: Manager) -> None:
        self.config_maps: Informer = manager.informer(CONFIG_MAPS, field_selector="metadata.name=web")
        self._clock = manager.clock
        manager.add(Controller("recorded", self, [For(self.config_maps)], workers=2))

    async def reconcile(self, key: ObjectKey) -> Result:
        self.times.append(self._clock.monotonic())
        return await self._behave(len(self.times))

    @property
    def pauses(self) -> list[float]:
        return [round(later - earlier, 3) for earlier, later in zip(self.times, self.times[1:], strict=False)]


def run_for(recorded: Recorded, seconds: float) -> None:
    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("web"))
        await cluster.clock.sleep(seconds)

    run_cluster(check, processes={"recorded": a_loop(recorded.add_to)})


def test_done_is_done() -> None:
    """After DONE nothing happens until the object changes."""

    async def behave(times: int) -> Result:
        return DONE

    recorded = Recorded(behave)
    run_for(recorded, 24 * 3600 - 100)

    assert 1 == len(recorded.times)


def test_requeue_after_comes_back_then() -> None:
    """RequeueAfter(60) runs again a minute later, as often as it is returned."""

    async def behave(times: int) -> Result:
        return RequeueAfter(60) if times < 4 else DONE

    recorded = Recorded(behave)
    run_for(recorded, 3600)

    assert [60, 60, 60] == recorded.pauses


def test_errors_back_off_and_a_success_forgets_them() -> None:
    """Any exception is tried again after 5, 10, 20 ms …; the first failure after a success starts at 5 ms."""

    async def behave(times: int) -> Result:
        if times in (1, 2, 3, 5):
            raise RuntimeError("not yet")
        return RequeueAfter(10) if times == 4 else DONE

    recorded = Recorded(behave)
    run_for(recorded, 3600)

    assert [0.005, 0.01, 0.02, 10, 0.005] == recorded.pauses


def test_a_terminal_error_is_not_tried_again() -> None:
    """It waits for a change of the object, and for nothing else."""

    async def behave(times: int) -> Result:
        raise TerminalError("spec makes no sense")

    recorded = Recorded(behave)
    run_for(recorded, 3600)

    assert 1 == len(recorded.times)


class Mirror:
    """Makes a Secret for each ConfigMap labelled mirror=yes, and keeps it as it made it."""

    def __init__(self, manager: Manager) -> None:
        self._api = manager.api
        self._config_maps = manager.informer(CONFIG_MAPS, label_selector="mirror=yes")
        owned = Owns(manager.informer(SECRETS), CONFIG_MAPS)
        manager.add(Controller("mirror", self, [For(self._config_maps), owned], workers=3))

    async def reconcile(self, key: ObjectKey) -> Result:
        config_map = self._config_maps.get(key)
        if config_map is None:
            return DONE

        def shape(secret: dict[str, object]) -> None:
            set_controller_reference(secret, config_map, CONFIG_MAPS)
            secret["data"] = {"a": "YQ=="}

        await create_or_update(self._api, SECRETS, key.name, key.namespace, shape)
        return DONE


def mirror(manager: Manager) -> None:
    Mirror(manager)


def test_what_is_owned_is_repaired() -> None:
    """Changing or deleting a child brings its owner back to work."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("web").labels(mirror="yes"))

        async def is_right() -> bool:
            secrets = await cluster.list(SECRETS, "default")
            return [("web", {"a": "YQ=="})] == [(name_of(secret), secret.get("data")) for secret in secrets]

        await cluster.eventually(is_right)
        await cluster.api.patch(SECRETS, "web", {"data": {"a": None, "b": "Yg=="}}, "default")
        await cluster.eventually(is_right)
        await cluster.api.delete(SECRETS, "web", "default")
        await cluster.eventually(is_right)

    run_cluster(check, processes={"mirror": a_loop(mirror)})


def test_a_loop_that_was_dead_catches_up() -> None:
    """Killed in the middle and started again later, it does what was due meanwhile."""

    async def check(cluster: Cluster) -> None:
        for i in range(10):
            await cluster.create(a_config_map(f"early-{i}").labels(mirror="yes"))
        await cluster.stop("mirror")
        for i in range(10):
            await cluster.create(a_config_map(f"late-{i}").labels(mirror="yes"))
        cluster.start("mirror")

        async def are_all_there() -> bool:
            return len(await cluster.list(SECRETS, "default")) == 20

        await cluster.eventually(are_all_there)

    run_cluster(check, processes={"mirror": a_loop(mirror)})


def test_a_seed_repeats_a_run_exactly() -> None:
    """Two runs of one seed write the same requests, at the same times, in the same order."""

    async def check(cluster: Cluster) -> list[Write]:
        for i in range(20):
            await cluster.create(a_config_map(f"web-{i}").labels(mirror="yes"))
        cluster.cut_off("mirror")
        await cluster.settled()
        return cluster.writes

    first, second = (run_cluster(check, seed=7, processes={"mirror": a_loop(mirror)}) for _ in range(2))

    assert 40 <= len(first)
    assert first == second


def test_predicates_keep_quiet_updates_out() -> None:
    """With labels_changed only a change of labels wakes the controller."""
    seen: list[ObjectKey] = []

    class Seen:
        async def reconcile(self, key: ObjectKey) -> Result:
            seen.append(key)
            return DONE

    def add_to(manager: Manager) -> None:
        informer = manager.informer(CONFIG_MAPS, field_selector="metadata.name=web")
        manager.add(Controller("seen", Seen(), [For(informer, [labels_changed])]))

    async def check(cluster: Cluster) -> None:
        web = await cluster.create(a_config_map("web"))
        await cluster.clock.sleep(1)
        await cluster.patch(web, {"data": {"a": "b"}})
        await cluster.clock.sleep(1)
        before = len(seen)
        await cluster.patch(web, {"metadata": {"labels": {"a": "b"}}})
        await cluster.clock.sleep(1)
        assert [1, 2] == [before, len(seen)]

    run_cluster(check, processes={"seen": a_loop(add_to)})


def test_resync_visits_everything_again() -> None:
    """With a resync period every object is reconciled once a period, changed or not."""
    times: list[float] = []

    def add_to(manager: Manager) -> None:
        class Noting:
            async def reconcile(self, key: ObjectKey) -> Result:
                times.append(manager.clock.monotonic())
                return DONE

        informer = manager.informer(CONFIG_MAPS, field_selector="metadata.name=web")
        manager.add(Controller("resync", Noting(), [For(informer)], resync_seconds=100))

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("web"))
        await cluster.clock.sleep(350)

    run_cluster(check, processes={"resync": a_loop(add_to)})

    assert 4 == len(times)


def test_who_edits_the_cache_is_caught() -> None:
    """With the mutation detector on, a reconcile that edits a cached object ends the whole run, naming the object."""

    async def behave(times: int) -> Result:
        obj = recorded.config_maps.get(WEB)
        if obj is not None:
            obj["data"] = {"edited": "in place"}
        return DONE

    recorded = Recorded(behave)

    with pytest.raises(BaseExceptionGroup) as failure:
        run_for(recorded, 10)

    assert failure.value.subgroup(CacheMutated) is not None


def test_a_graceful_stop_lets_a_reconcile_finish() -> None:
    """`stop` waits for the reconcile under way, starts no other, and then `run` returns."""
    finished: list[str] = []

    async def check(cluster: Cluster) -> None:
        manager = Manager(cluster.api, cluster.clock, random.Random(1), ManagerOptions(stop_seconds=30))

        class Slow:
            async def reconcile(self, key: ObjectKey) -> Result:
                await cluster.clock.sleep(20)
                finished.append(key.name)
                return DONE

        manager.add(Controller("slow", Slow(), [For(manager.informer(CONFIG_MAPS, "default"))]))
        await cluster.create(a_config_map("a"))
        await cluster.create(a_config_map("b"))
        running = asyncio.create_task(manager.run())
        await cluster.clock.sleep(5)
        manager.stop()
        await running

    run_cluster(check)

    assert 1 == len(finished)


def test_a_reconcile_that_does_not_finish_is_cancelled_at_last() -> None:
    """A graceful stop waits for `stop_seconds`, and no longer; what was under way is found by the next start."""
    ended: list[str] = []

    async def check(cluster: Cluster) -> None:
        manager = Manager(cluster.api, cluster.clock, random.Random(1), ManagerOptions(stop_seconds=30))

        class Endless:
            async def reconcile(self, key: ObjectKey) -> Result:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    ended.append("cancelled")
                    raise
                return DONE

        manager.add(Controller("endless", Endless(), [For(manager.informer(CONFIG_MAPS, "default"))]))
        await cluster.create(a_config_map("a"))
        running = asyncio.create_task(manager.run())
        await cluster.clock.sleep(5)
        began = cluster.clock.monotonic()
        manager.stop()
        await running
        assert 30 == cluster.clock.monotonic() - began

    run_cluster(check)

    assert ["cancelled"] == ended


def test_a_name_is_one_controllers() -> None:
    """Two of one name would be one in logs and metrics."""

    async def check(cluster: Cluster) -> None:
        manager = Manager(cluster.api, cluster.clock, random.Random(1))
        manager.add(Controller("web", Recorded(None)))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="there is a controller web already"):
            manager.add(Controller("web", Recorded(None)))  # type: ignore[arg-type]

    run_cluster(check)


def test_a_source_may_come_up_later() -> None:
    """A controller that runs already is told of what is there, and from then on of every change."""
    seen: list[str] = []

    async def check(cluster: Cluster) -> None:
        manager = Manager(cluster.api, cluster.clock, random.Random(1))

        class Seen:
            async def reconcile(self, key: ObjectKey) -> Result:
                seen.append(key.name)
                return DONE

        controller = Controller("seen", Seen())
        manager.add(controller)
        running = asyncio.create_task(manager.run())
        await cluster.create(a_config_map("early"))
        await cluster.clock.sleep(1)
        controller.watch(For(manager.informer(CONFIG_MAPS, label_selector="!generated")))
        await cluster.eventually(lambda: "early" in seen)
        await cluster.create(a_config_map("late"))
        await cluster.eventually(lambda: "late" in seen)
        manager.stop()
        await running

    run_cluster(check)


def test_live_changes_come_before_what_was_there() -> None:
    """Of many objects at the start one changes: it is reconciled next, and not after all the others."""
    order: list[str] = []

    def add_to(manager: Manager) -> None:
        class Slow:
            async def reconcile(self, key: ObjectKey) -> Result:
                order.append(key.name)
                await manager.clock.sleep(1)
                return DONE

        manager.add(Controller("slow", Slow(), [For(manager.informer(CONFIG_MAPS, "default"))]))

    async def check(cluster: Cluster) -> None:
        await cluster.stop("slow")
        for i in range(100):
            await cluster.create(a_config_map(f"c{i:02}"))
        order.clear()
        cluster.start("slow")
        await cluster.eventually(lambda: order)
        await cluster.patch(a_config_map("c77"), {"data": {"changed": "yes"}})
        await cluster.eventually(lambda: len(order) > 2)

    run_cluster(check, processes={"slow": a_loop(add_to)})

    assert "c77" in order[1:3]


def test_a_server_that_was_away_long_is_followed_again_within_seconds() -> None:
    """However long it was gone and however many tries failed, a change is acted on soon after it is back."""

    async def behave(times: int) -> Result:
        return DONE

    recorded = Recorded(behave)

    async def check(cluster: Cluster) -> None:
        web = await cluster.create(a_config_map("web"))
        await cluster.eventually(lambda: recorded.times)
        await cluster.stop_server()
        await cluster.clock.sleep(300)
        await cluster.start_server()
        before = len(recorded.times)
        await cluster.patch(web, {"data": {"k": "v"}})
        await cluster.eventually(lambda: len(recorded.times) > before, within_seconds=6)

    run_cluster(check, processes={"recorded": a_loop(recorded.add_to)})
