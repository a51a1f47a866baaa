"""How a reconcile ends: DONE, RequeueAfter, REQUEUE or TerminalError; whatever else it raises is tried again later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import ObjectKey


@dataclass(frozen=True, slots=True)
class Done:
    """The world is as wished, or will tell us when it changes."""


DONE = Done()


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look again after this long: something is due that no event will announce.

    `priority` is that of the next look (workqueue.py); None keeps the one this reconcile had.
    """

    seconds: float
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Requeue:
    """Look again as after a failure, later each time, though nothing failed: something is under way elsewhere."""

    priority: int | None = None


REQUEUE = Requeue()

Result = Done | RequeueAfter | Requeue


class TerminalError(Exception):
    """Trying again cannot help until the object changes. Logged and counted, not retried."""


class Unfinished(Exception):
    """Something of everyday life was in the way, and the next try may succeed: told in a line, without a traceback."""


class ReconcileTimeout(Unfinished):
    """A reconcile took longer than its controller allows, and was cancelled."""


def is_foreseen(error: Exception) -> bool:
    """Refusals of the API server and obstacles of everyday life; anything else is a bug in the reconciler."""
    return isinstance(error, ApiError | Unfinished | TerminalError)


class Reconciler(Protocol):
    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring the world nearer to what the object `key` asks for. Never called twice at once for one key."""
        ...
