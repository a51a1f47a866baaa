"""Every loop, the scheduler and the kubelets end as they would have in peace, whatever happens on the way.

One seed is one run of one scenario under some faults. `python -m tests.level_triggered` has more of them, and plays a
failed one again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest
import structlog

from controllers import catalog
from kubeloop.testing.campaign import Campaign
from kubeloop.testing.faults import FAULTS
from tests.level_triggered.scenarios import SCENARIOS

SEEDS = range(200)
NAMES = [scenario.name for scenario in SCENARIOS]
CAMPAIGN = Campaign(SCENARIOS, "python -m tests.level_triggered")


def seeds_of(name: str) -> list[int]:
    return [seed for seed in SEEDS if CAMPAIGN.plan(seed).scenario.name == name]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What loops say of trouble that was made on purpose helps nobody."""
    with structlog.testing.capture_logs():
        yield


@pytest.mark.parametrize("name", NAMES)
def test_faults_change_nothing_of_the_end(name: str) -> None:
    """The same objects as in peace, none twice, no orphan, and nobody who goes on writing."""
    failures = list(CAMPAIGN.failures(seeds_of(name)))

    assert not failures, "\n\n".join(map(str, failures))


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        (219, "cronjob-controller"),  # a watch that told history made the cache older
        (736, "statefulset-controller"),  # a revision that no cache showed was not counted
        (800, "scheduler"),  # a pod was tried again before its victim was asked to go
        (2051, "scheduler"),
    ],
)
def test_what_longer_campaigns_found_stays_mended(seed: int, name: str) -> None:
    """Seeds beyond those that are always played."""
    failures = list(CAMPAIGN.failures([seed], name))

    assert not failures, "\n\n".join(map(str, failures))


def test_every_loop_has_a_scenario() -> None:
    """A loop of the catalog that nobody disturbs is not known to be level-triggered."""
    assert not [loop.name for loop in catalog.LOOPS if loop.name not in NAMES]


def test_every_scenario_meets_every_fault() -> None:
    """Several seeds for each scenario, and each fault that it is not spared in at least one of them."""
    met: dict[str, set[str]] = defaultdict(set)
    for seed in SEEDS:
        plan = CAMPAIGN.plan(seed)
        met[plan.scenario.name] |= {type(fault).__name__ for faults in plan.faults.values() for fault in faults}

    missed = {
        scenario.name: sorted({f.__name__ for f in FAULTS if f not in scenario.spared} - met[scenario.name])
        for scenario in SCENARIOS
    }

    assert {} == {name: faults for name, faults in missed.items() if faults}
    assert 4 <= min(len(seeds_of(name)) for name in NAMES)


@pytest.mark.parametrize(("seed", "name"), [(8, "deployment-controller"), (21, "scheduler")])
def test_a_seed_plays_the_same_run_again(seed: int, name: str) -> None:
    """In another process too, with other hashes: to the last byte of every write."""
    plan = CAMPAIGN.plan(seed, name)
    run = CAMPAIGN.run(plan)

    command = [sys.executable, "-m", "tests.level_triggered", "--seed", str(seed), "--scenario", plan.scenario.name]
    again = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "4711"})

    assert again.stdout.endswith(f"{len(run.writes)} writes, digest {run.digest}\n"), again.stdout + again.stderr
