"""How a reconcile ends: DONE, RequeueAfter, TerminalError; anything else it raises is tried again with backoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kubeloop.apimachinery.meta import ObjectKey


@dataclass(frozen=True, slots=True)
class Done:
    """The world is as wished, or will tell us when it changes."""


DONE = Done()


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look again after this long: something is due that no event will announce."""

    seconds: float


Result = Done | RequeueAfter


class TerminalError(Exception):
    """Trying again cannot help until the object changes. Logged and counted, not retried."""


class Unfinished(Exception):
    """Something of everyday life was in the way, and the next try may succeed: told in a line, without a traceback."""


class Reconciler(Protocol):
    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring the world nearer to what the object `key` asks for. Never called twice at once for one key."""
        ...
