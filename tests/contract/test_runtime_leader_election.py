"""Leader election over real Leases."""

import asyncio
import random
from typing import Any

import pytest
from structlog.testing import capture_logs

from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.apimachinery.resource import CONFIG_MAPS, LEASES
from kubeloop.runtime import DONE, Controller, For, Manager, ManagerOptions, Result
from kubeloop.runtime.leader_election import ElectionTimes, LeaderElector, LeadershipLost
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, Process, Surroundings, run_cluster


class Candidates:
    """Processes that note when they lead: `log` has (seconds, who, "leads" | "stopped")."""

    def __init__(self) -> None:
        self.log: list[tuple[float, str, str]] = []

    def candidate(self, identity: str) -> Process:
        async def process(surroundings: Surroundings) -> None:
            clock = surroundings.clock

            async def work() -> None:
                self.log.append((clock.monotonic(), identity, "leads"))
                try:
                    await asyncio.Event().wait()
                finally:
                    self.log.append((clock.monotonic(), identity, "stopped"))

            await LeaderElector(surroundings.api, clock, surroundings.rng, "loops", identity).run(work)

        return process

    def leaders(self) -> list[str]:
        return [who for _, who, what in self.log if what == "leads"]


async def spec(cluster: Cluster) -> dict[str, Any]:
    lease = await cluster.api.get(LEASES, "loops", "kube-system")
    found: dict[str, Any] = lease["spec"]
    return found


def test_only_one_leads() -> None:
    """Of two candidates one works, for as long as it renews."""
    candidates = Candidates()

    async def check(cluster: Cluster) -> None:
        await cluster.clock.sleep(600)
        assert 1 == len(candidates.log)
        assert candidates.leaders() == [(await spec(cluster))["holderIdentity"]]

    run_cluster(check, processes={name: candidates.candidate(name) for name in ("a", "b")})


def test_who_waits_says_for_whom() -> None:
    """Who has to wait is told once and not with every try: who holds the lease, and how long it lasts without him."""
    candidates = Candidates()

    async def check(cluster: Cluster) -> None:
        await cluster.clock.sleep(60)

    with capture_logs() as lines:
        run_cluster(check, processes={name: candidates.candidate(name) for name in ("a", "b")})

    waiting = [line for line in lines if line["event"] == "waiting for the lease"]
    assert [(candidates.leaders()[0], 15)] == [(line["holder"], line["lease_seconds"]) for line in waiting]


def test_a_leader_that_stops_hands_over_at_once() -> None:
    """It releases the lease; the next one leads within its retry period and not after the lease's duration."""
    candidates = Candidates()

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: candidates.log)
        first = candidates.leaders()[0]
        stopped_at = cluster.clock.monotonic()
        await cluster.stop(first)
        await cluster.eventually(lambda: len(candidates.leaders()) == 2, within_seconds=5)
        assert cluster.clock.monotonic() - stopped_at < 5
        assert 2 == (await spec(cluster))["leaseTransitions"] + 1

    run_cluster(check, processes={name: candidates.candidate(name) for name in ("a", "b")})


def test_a_leader_that_vanishes_is_replaced_after_its_lease() -> None:
    """Without a release the others wait until the lease has run out on their own clock."""
    candidates = Candidates()

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: candidates.log)
        first = candidates.leaders()[0]
        cluster.transport(first).refuse(True)
        cluster.cut_off(first)
        vanished_at = cluster.clock.monotonic()
        await cluster.eventually(lambda: len(candidates.leaders()) == 2, within_seconds=30)
        waited = cluster.clock.monotonic() - vanished_at
        stopped = [seconds for seconds, who, what in candidates.log if (who, what) == (first, "stopped")]
        assert 13 <= waited <= 21
        assert stopped[0] < cluster.clock.monotonic()

    with pytest.raises(BaseExceptionGroup) as failure:
        run_cluster(check, processes={name: candidates.candidate(name) for name in ("a", "b")})

    assert failure.value.subgroup(LeadershipLost) is not None


def test_work_that_ends_releases_the_lease() -> None:
    """When the work is done, `run` returns and nobody holds the lease."""

    async def check(cluster: Cluster) -> None:
        async def work() -> None:
            await cluster.clock.sleep(100)

        await LeaderElector(cluster.api, cluster.clock, random.Random(1), "loops", "a").run(work)
        assert "" == ((await spec(cluster)).get("holderIdentity") or "")

    run_cluster(check)


def test_a_leader_finishes_its_reconcile_before_it_lets_go() -> None:
    """Asked to stop it keeps the lease until the work under way is done, and hands it over then."""
    seen: list[str] = []

    async def check(cluster: Cluster) -> None:
        manager = Manager(cluster.api, cluster.clock, random.Random(1), ManagerOptions(stop_seconds=60))

        class Slow:
            async def reconcile(self, key: ObjectKey) -> Result:
                await cluster.clock.sleep(40)
                seen.append((await spec(cluster))["holderIdentity"])
                return DONE

        manager.add(Controller("slow", Slow(), [For(manager.informer(CONFIG_MAPS, "default"))]))
        await cluster.create(a_config_map("web"))
        elector = LeaderElector(cluster.api, cluster.clock, random.Random(1), "loops", "a")
        running = asyncio.create_task(elector.run(manager.run))
        await cluster.clock.sleep(5)
        manager.stop()
        await running
        assert ["a"] == seen
        assert "" == ((await spec(cluster)).get("holderIdentity") or "")

    run_cluster(check)


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 2, 2)])
def test_times_that_would_flap_are_refused(times: tuple[float, float, float]) -> None:
    """Lease > renew deadline > retry period, or a message that says which flag to change."""
    with pytest.raises(ValueError, match=r"--leader-elect-.* must be greater than"):
        ElectionTimes(*times)
