"""A server that is late on purpose (--late-answers, --late-watches): for whoever wants to know what withstands it.

Not asked for, nothing of it is there: `server.py` wraps neither the application nor what watches send. Late are the
requests that a client of the API makes. Health and metrics are not, by which others judge whether this server lives.
"""

from __future__ import annotations

import random
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from apiserver.handlers.response import Asgi, Receive, Scope, Send
from kubeloop.apimachinery.clock import Clock

# The first segments of the paths that are answered at once.
AT_ONCE = frozenset({"healthz", "livez", "readyz", "metrics"})


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late at most, and what draws the times in between. 0: not late."""

    rng: random.Random
    answers_seconds: float = 0.0
    watches_seconds: float = 0.0


class Draw:
    """Waits: each time from nothing to `most_seconds`, evenly."""

    def __init__(self, clock: Clock, rng: random.Random, most_seconds: float) -> None:
        self._clock, self._rng, self._most_seconds = clock, rng, most_seconds

    async def wait(self) -> None:
        await self._clock.sleep(self._rng.uniform(0, self._most_seconds))


class LateAnswers:
    """An application that lets each request wait before it looks at it."""

    def __init__(self, app: Asgi, draw: Draw) -> None:
        self._app, self._draw = app, draw

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"][1:].partition("/")[0] not in AT_ONCE:
            await self._draw.wait()
        await self._app(scope, receive, send)


class LateWatches:
    """What a watch sends, each batch of events late.

    Whoever sends is held up meanwhile: so nothing overtakes, and what happens next waits where it does for a slow
    client, with the same bound.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def sends(self, send: Send) -> Send:
        async def send_late(message: MutableMapping[str, Any]) -> None:
            if message.get("body"):  # neither the head of the answer nor its end
                await self._draw.wait()
            await send(message)

        return send_late
