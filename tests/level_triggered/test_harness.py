"""The harness tells controllers that are level-triggered from those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.runtime import Manager
from kubeloop.runtime.expectations import Expectations
from kubeloop.testing.campaign import Campaign
from kubeloop.testing.cluster import Cluster, a_loop
from kubeloop.testing.faults import FAULTS, Fault
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.scenarios import SCENARIOS
from tests.level_triggered.toys import Way, scenario_of

SEEDS = range(16)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield


def first_failure(scenario: Scenario, seeds: range = SEEDS) -> str:
    """As it is shown; "" where there is none."""
    return str(next(Campaign([scenario], "again").failures(seeds), ""))


def test_a_controller_that_reads_the_world_passes() -> None:
    """Whatever the seed."""
    assert "" == first_failure(scenario_of(Way.RIGHT))


def test_children_made_twice_are_found() -> None:
    """Counting what the cache lacks makes too many where the cache is late; the state that differs is shown."""
    failure = first_failure(scenario_of(Way.COUNTING))

    assert "it ended in another state" in failure
    assert "+ configmaps default/book-*" in failure


def test_events_that_count_are_found() -> None:
    """Who acts on what happened misses what happened before it was there."""
    scenario = scenario_of(Way.EVENTS)

    peaceful = Campaign([scenario], "again").peaceful(scenario)

    assert not peaceful.problems
    assert first_failure(scenario)


def test_a_replica_set_loop_without_expectations_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes pods once more before the first ones show up: a law that holds at every moment is broken."""
    monkeypatch.setattr(Expectations, "satisfied", lambda *_: True)
    scenario = next(one for one in SCENARIOS if one.name == "replicaset-controller")

    assert "no more than 6 are allowed" in first_failure(scenario)


def test_a_failure_says_how_to_see_it_again() -> None:
    """Seed, scenario and faults, and a command; with fewer faults if fewer do."""
    campaign = Campaign([scenario_of(Way.COUNTING)], "again")
    failure = next(campaign.failures(SEEDS))

    shrunk = campaign.shrunk(failure)

    assert f"again: again --seed {failure.plan.seed} --scenario 'librarian, COUNTING'" in str(failure)
    assert len(shrunk.plan.faults["librarian"]) <= len(failure.plan.faults["librarian"])
    assert shrunk.problems


def test_a_process_that_dies_of_itself_is_a_failure() -> None:
    """With its traceback."""

    def add_nothing(_: object) -> None:
        raise RuntimeError("cannot even start")

    scenario = Scenario("broken", {"broken": a_loop(add_nothing)}, scenario_of(Way.RIGHT).script)

    assert "cannot even start" in first_failure(scenario)


def test_what_fails_in_peace_is_told_once_as_that() -> None:
    """No fault is blamed for it, and no seed tells it again; there is nothing to leave out."""

    def write_for_ever(manager: Manager) -> None:
        async def write() -> None:
            while True:
                await manager.api.create(CONFIG_MAPS, {"metadata": {"generateName": "one-more-"}}, "default")
                await manager.clock.sleep(60)

        manager.add_task("write", write)

    async def script(cluster: Cluster) -> None:
        await cluster.clock.sleep(1)

    campaign = Campaign([Scenario("restless", {"restless": a_loop(write_for_ever)}, script)], "again")
    (failure,) = campaign.failures(SEEDS)

    assert str(failure).startswith("scenario restless, in peace already")
    assert "it does not stop writing" in str(failure)
    assert failure == campaign.shrunk(failure)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_is_on_the_page_about_them(fault: type[Fault]) -> None:
    """With what it does."""
    page = (Path(__file__).parents[2] / "docs" / "level-triggered.md").read_text()

    assert f"`{fault.__name__}`" in page
    assert fault.__doc__
