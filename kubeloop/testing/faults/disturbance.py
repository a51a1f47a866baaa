"""All faults of one process, stacked: what a Cluster asks for a transport and a clock each time the process starts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from kubeloop.apimachinery.clock import Clock
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed, Request, Response, Transport
from kubeloop.testing.faults.fault import Fault, Layer, Site


class Disturbance:
    """`kill(seconds)` ends the process and starts it again that much later. `other`: a client of somebody else."""

    def __init__(
        self,
        process: str,
        faults: Sequence[Fault],
        seed: int,
        clock: Clock,
        kill: Callable[[float], None],
        revisions: Callable[[float], Sequence[int]],
        other: Api,
    ) -> None:
        self._is_active = True
        self._life: _Life | None = None
        self._kill = kill

        def layer(fault: Fault) -> Layer:
            rng = random.Random(f"{seed} {process} {type(fault).__name__}")
            return fault.layer(Site(process, clock, rng, lambda: self._is_active, self._die, revisions, other))

        self._layers = [layer(fault) for fault in faults]

    def transport(self, transport: Transport) -> Transport:
        """For one life of the process."""
        for layer in self._layers:
            layer.process_starts()
        self._life = _Life(self._layers, transport)
        return self._life

    def clock(self, clock: Clock) -> Clock:
        for layer in self._layers:
            clock = layer.clock(clock)
        return clock

    def end(self) -> None:
        """From now on nothing goes wrong but clocks."""
        self._is_active = False

    def _die(self, restart_seconds: float) -> None:
        if self._life is not None and not self._life.is_over:
            self._life.is_over = True
            self._kill(restart_seconds)


class _Life:
    """A transport through the layers. What a killed process still sends while it is unwound goes nowhere."""

    def __init__(self, layers: Sequence[Layer], transport: Transport) -> None:
        self.is_over = False
        self._transport = transport
        send = transport.send
        for layer in reversed(layers):
            send = partial(layer.send, pass_on=send)
        self._send = send

    async def send(self, request: Request) -> Response:
        if self.is_over:
            raise ConnectionFailed("the process was killed")
        return await self._send(request)

    async def aclose(self) -> None:
        await self._transport.aclose()
