"""Scenarios under faults, one run a seed: which scenario, which faults, how hard and when comes from the seed alone.

A module of one's own becomes a command by

    sys.exit(campaign.main("python -m tests.level_triggered", SCENARIOS))

Every scenario has its turn before any has its second, and after a few turns it has met every fault. What fails is
printed with its seed and the command that plays it again, write for write.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson
import structlog

from kubeloop.testing.cluster import Write
from kubeloop.testing.faults import FAULTS
from kubeloop.testing.faults.fault import Fault
from kubeloop.testing.scenario import Run, Scenario, play

Thing = TypeVar("Thing")

# Faults that meet in one run, besides those that chance adds.
_AT_ONCE = 4
_MAX_MORE = 1
# The share of runs in which every process is disturbed, not the subjects alone.
_EVERYBODY = 0.3


@dataclass(frozen=True)
class Plan:
    """What a seed stands for."""

    seed: int
    scenario: Scenario
    faults: Mapping[str, tuple[Fault, ...]]

    def __str__(self) -> str:
        if not self.faults:
            return f"scenario {self.scenario.name}, in peace already: nothing was disturbed"
        lines = [f"seed {self.seed}, scenario {self.scenario.name}, under"]
        together: dict[tuple[Fault, ...], list[str]] = {}
        for process, faults in self.faults.items():
            together.setdefault(faults, []).append(process)
        lines += [f"  {', '.join(names)}: {', '.join(map(str, faults))}" for faults, names in together.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Failure:
    plan: Plan
    problems: Sequence[str]
    command: str

    def __str__(self) -> str:
        return "\n".join([str(self.plan), *self.problems, f"again: {self.command}"])


class Campaign:
    """Plays plans; what each scenario ends in when nothing goes wrong is found out once."""

    def __init__(self, scenarios: Sequence[Scenario], command: str) -> None:
        self._scenarios, self._command = tuple(scenarios), command
        self._peaceful: dict[str, Run] = {}

    def plan(self, seed: int, scenario: str = "", only: Iterable[str] = ()) -> Plan:
        """`scenario`: that one instead of the seed's own choice; `only`: the names of the faults to leave in."""
        turn, place = divmod(seed, len(self._scenarios))
        if scenario:
            chosen = next(one for one in self._scenarios if one.name == scenario)
        else:
            chosen = _shuffled(self._scenarios, f"order {turn}")[place]
        rng = random.Random(f"faults {seed}")
        kinds = [kind for kind in _kinds(chosen.name, turn, rng) if kind not in chosen.spared]
        names = set(only)
        faults = tuple(_drawn(kind, seed) for kind in kinds if not names or kind.__name__ in names)
        victims = tuple(chosen.processes) if rng.random() < _EVERYBODY else chosen.disturbed
        return Plan(seed, chosen, dict.fromkeys(victims, faults))

    def run(self, plan: Plan) -> Run:
        peaceful = self.peaceful(plan.scenario)
        if peaceful.problems:
            return peaceful
        return play(plan.scenario, plan.seed, plan.faults, peaceful.state)

    def peaceful(self, scenario: Scenario) -> Run:
        if scenario.name not in self._peaceful:
            self._peaceful[scenario.name] = play(scenario)
        return self._peaceful[scenario.name]

    def failures(self, seeds: Iterable[int], scenario: str = "", only: Sequence[str] = ()) -> Iterator[Failure]:
        """A scenario that fails without faults is told once, and not for each of its seeds."""
        told: set[str] = set()
        for seed in seeds:
            plan = self.plan(seed, scenario, only)
            run = self.run(plan)
            if run is self.peaceful(plan.scenario):
                if plan.scenario.name in told:
                    continue
                told.add(plan.scenario.name)
                plan = replace(plan, faults={})
            if run.problems:
                yield Failure(plan, run.problems, self._again(plan, only))

    def shrunk(self, failure: Failure) -> Failure:
        """The same with as few faults as still fail."""
        plan, problems = failure.plan, failure.problems
        if not plan.faults:
            return failure
        left = [type(fault).__name__ for fault in next(iter(plan.faults.values()))]
        for name in list(left):
            fewer = [other for other in left if other != name]
            candidate = self.plan(plan.seed, plan.scenario.name, fewer)
            if fewer and (found := self.run(candidate).problems):
                plan, problems, left = candidate, found, fewer
        return Failure(plan, problems, self._again(plan, left))

    def _again(self, plan: Plan, only: Sequence[str]) -> str:
        restricted = [word for name in only for word in ("--only", name)]
        return (
            f"{self._command} {shlex.join(['--seed', str(plan.seed), '--scenario', plan.scenario.name, *restricted])}"
        )


def _kinds(scenario: str, turn: int, rng: random.Random) -> Sequence[type[Fault]]:
    """Each scenario goes through all faults in an order of its own, a few a turn; chance adds more."""
    order = _shuffled(FAULTS, f"faults of {scenario}")
    start = turn * _AT_ONCE % len(order)
    kinds = (order + order)[start : start + _AT_ONCE]
    kinds += rng.sample([kind for kind in order if kind not in kinds], rng.randrange(_MAX_MORE + 1))
    return kinds


def _shuffled(things: Sequence[Thing], seed: str) -> list[Thing]:
    rng = random.Random(seed)
    return rng.sample(things, len(things))


def _drawn(kind: type[Fault], seed: int) -> Fault:
    return kind.drawn(random.Random(f"{kind.__name__} {seed}"))


def main(command: str, scenarios: Sequence[Scenario], arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=command, description="Plays scenarios under faults.")
    parser.add_argument("--seeds", type=int, default=200, help="how many (default %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default %(default)s)")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--scenario", default="", choices=["", *(one.name for one in scenarios)], metavar="NAME")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help="leave out all other faults")
    parser.add_argument("--writes", action="store_true", help="print every write of --seed's run")
    parser.add_argument("--shrink", action="store_true", help="look for the fewest faults that still fail")
    parser.add_argument("--log", action="store_true", help="show what the processes log")
    options = parser.parse_args(arguments)
    level = logging.DEBUG if options.log else logging.CRITICAL
    structlog.configure(
        processors=[_with_virtual_time, *structlog.get_config()["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    campaign = Campaign(scenarios, command)
    if options.seed is not None:
        plan = campaign.plan(options.seed, options.scenario, options.only)
        run = campaign.run(plan)
        _print(plan, *(map(_line, run.writes) if options.writes else ()), *run.problems)
        _print(f"{len(run.writes)} writes, digest {run.digest}")
        return bool(run.problems)
    began, failed = time.process_time(), 0
    seeds = range(options.first, options.first + options.seeds)
    for failure in campaign.failures(seeds, options.scenario, options.only):
        failed += 1
        _print(campaign.shrunk(failure) if options.shrink else failure, "")
    _print(f"{len(seeds)} seeds, {failed} failed, {time.process_time() - began:.0f} s of CPU")
    return bool(failed)


def _line(write: Write) -> str:
    body = orjson.dumps(write.body).decode() if write.body is not None else ""
    return f"{write.seconds:11.3f} {write.process}: {write.method} {write.target} {body}"


def _with_virtual_time(_: Any, __: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The process' part is not known here: its writes, with --writes, tell it."""
    with suppress(RuntimeError):
        fields["virtual"] = round(asyncio.get_running_loop().time(), 3)
    return fields


def _print(*lines: object) -> None:
    print(*lines, sep="\n", flush=True)  # noqa: T201
