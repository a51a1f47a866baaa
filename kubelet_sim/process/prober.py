"""The checks of a container's probes, really made: one task for each probe, for as long as the container runs.

Whether a probe is asked at a moment, and what its answers come to, is decided in probing.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from kubelet_sim.probes import Kind, Outcome, Probe, Probes
from kubelet_sim.process import actions
from kubelet_sim.process.actions import Json, Network, Unreachable
from kubelet_sim.process.processes import CannotStart
from kubeloop.apimachinery.clock import Clock

# (exit code, output) of a command in the container. Raises CannotStart.
Run = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]


class Report(Protocol):
    def __call__(self, kind: Kind, outcome: Outcome, said: str) -> None: ...


class Prober:
    def __init__(
        self, container: Json, probes: Probes, run: Run, network: Network, clock: Clock, report: Report
    ) -> None:
        self._container, self._probes, self._run = container, probes, run
        self._network, self._clock, self._report = network, clock, report
        self._asked: frozenset[Kind] = frozenset()
        self._changed = asyncio.Event()

    def ask(self, kinds: Collection[Kind]) -> None:
        """From now on these are asked, and no others."""
        if frozenset(kinds) != self._asked:
            self._asked = frozenset(kinds)
            self._changed.set()
            self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for kind, probe in self._probes.items():
                tasks.create_task(self._ask_again_and_again(kind, probe))

    async def _ask_again_and_again(self, kind: Kind, probe: Probe) -> None:
        await self._clock.sleep(probe.delay)
        while True:
            while kind not in self._asked:
                await self._changed.wait()
            begun = self._clock.monotonic()
            outcome, said = await self._check(probe)
            if kind in self._asked:
                self._report(kind, outcome, said)
            await self._clock.sleep(max(0.0, probe.period - (self._clock.monotonic() - begun)))

    async def _check(self, probe: Probe) -> tuple[Outcome, str]:
        try:
            async with asyncio.timeout(probe.timeout):
                return await self._made(probe.fields)
        except TimeoutError:
            return Outcome.HANG, self._no_answer(probe)
        except Unreachable as error:
            return Outcome.FAIL, self._unreachable(probe.fields, str(error))
        except CannotStart as error:
            return Outcome.FAIL, str(error)

    async def _made(self, fields: Json) -> tuple[Outcome, str]:
        if "httpGet" in fields:
            answer = await actions.asked(self._network, fields["httpGet"], self._container)
            if 200 <= answer.status < 400:
                return Outcome.PASS, ""
            return Outcome.FAIL, f"HTTP probe failed with statuscode: {answer.status}"
        if "tcpSocket" in fields or "grpc" in fields:
            await actions.reached(self._network, fields.get("tcpSocket") or fields["grpc"], self._container)
            return Outcome.PASS, ""
        code, output = await self._run((fields.get("exec") or {}).get("command") or ())
        return (Outcome.FAIL, output) if code else (Outcome.PASS, "")

    def _unreachable(self, fields: Json, why: str) -> str:
        if "httpGet" in fields:
            return f'Get "{_url(fields["httpGet"], self._container)}": {why}'
        return why

    def _no_answer(self, probe: Probe) -> str:
        fields, seconds = probe.fields, f"{int(probe.timeout)}s"
        if "httpGet" in fields:
            why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            return f'Get "{_url(fields["httpGet"], self._container)}": {why}'
        if "exec" in fields:
            return f'command timed out: "{" ".join(fields["exec"].get("command") or ())}" timed out after {seconds}'
        return f"dial tcp: i/o timeout after {seconds}"


def _url(action: Json, container: Json) -> str:
    try:
        return actions.url_of(action, container)
    except Unreachable:
        return str(action.get("path") or "/")
