"""Removing the victims, and taking back what others were promised."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.interface import Nomination
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pending_preemptions import PendingPreemptions
from controllers.scheduler.pre_binding import PreBinding
from controllers.scheduler.preemption_executor import PreemptionExecutor
from controllers.scheduler.waiting_pods import WaitingPods
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.resource import Resource
from kubeloop.testing.builders import a_pod
from kubeloop.testing.virtual_time import LoopClock, run
from tests.unit.scheduler.scene import info


class MemoryApi:
    """Refuses changes of the pods in `stubborn`, as of pods that were made anew; those in `gone` are not there."""

    def __init__(self, *stubborn: str, gone: Sequence[str] = ()) -> None:
        self.stubborn, self.gone = stubborn, gone
        self.patched: list[str] = []
        self.deleted: list[str] = []

    async def patch(self, resource: Resource, name: str, *what: Any, **how: Any) -> None:
        self.patched.append(name)
        if name in self.gone:
            raise NotFound.of("pods", "", name)
        if name in self.stubborn:
            raise Conflict("Precondition failed: UID in precondition: 1, UID in object meta: 2")

    async def delete(self, resource: Resource, name: str, *what: Any, **how: Any) -> None:
        self.deleted.append(name)


def preempt(api: MemoryApi, *victims: str) -> list[str]:
    """Pod `p` takes the place of the victims on node a, which `other` was promised; returns who is tried again."""
    activated: list[str] = []

    async def test() -> None:
        clock, nominator = LoopClock(), Nominator()
        other = a_pod("other")
        other["status"] = {"nominatedNodeName": "a"}
        nominator.add(info(other))
        executor = PreemptionExecutor(
            api,  # type: ignore[arg-type]
            clock,
            Announcer(api, clock),  # type: ignore[arg-type]
            nominator,
            WaitingPods(),
            PreBinding(),
            PendingPreemptions(),
            activated.extend,
        )
        async with asyncio.TaskGroup() as group:
            placed = tuple(info(a_pod(name).on("a")) for name in victims or ("victim",))
            executor.start(info(a_pod("p").spec(priority=9)), Nomination("a", placed), group)

    run(test())
    return activated


def test_promises_are_taken_back_before_victims_go() -> None:
    """A less important pod looks for another node at once."""
    api = MemoryApi()

    assert [] == preempt(api)
    assert ["other", "victim"] == api.patched
    assert ["victim"] == api.deleted


def test_victims_go_though_a_promise_cannot_be_taken_back() -> None:
    """The other pod may have been made anew under its name; that is no reason to let the important one wait."""
    api = MemoryApi("other")

    preempt(api)

    assert ["victim"] == api.deleted


def test_a_victim_that_cannot_be_removed_is_no_end() -> None:
    """The pod is tried again and may choose others."""
    api = MemoryApi("victim")

    assert ["uid-of-p"] == preempt(api)
    assert [] == api.deleted


def test_who_preempts_a_pod_that_is_gone_is_tried_again() -> None:
    """It was kept back until now, and its last victim's end is not heard of any more."""
    assert ["uid-of-p"] == preempt(MemoryApi(gone=["victim"]))
    assert ["uid-of-p"] == preempt(MemoryApi(gone=["last"]), "first", "last")
    assert [] == preempt(MemoryApi(gone=["first"]), "first", "last")
