"""How many requests are carried out at once (--max-requests-inflight, --max-mutating-requests-inflight).

What comes on top is told to try again in a second, which clients do by themselves; nothing waits here. Watches are not
counted: they last. Members of system:masters are never turned away, so that an administrator, and the loops of a stack,
get through whatever others do. The words are those of server/filters/maxinflight.go (v1.36).
"""

from __future__ import annotations

from types import TracebackType

from apiserver.auth.authentication import MASTERS, User
from apiserver.handlers.response import TEXT, Response

MAX_READS, MAX_WRITES = 400, 200

_READS = frozenset({"get", "list"})
_LONG = frozenset({"watch"})

TOO_MANY = Response(
    429,
    b"Too many requests, please try again later.\n",
    TEXT,
    [(b"retry-after", b"1"), (b"x-content-type-options", b"nosniff")],
)


class Overloaded(Exception):
    """There are as many requests under way as there may be: answer `TOO_MANY`."""


class Slots:
    """Places for requests of one sort, to be held (`with`) while one is carried out. 0: without end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    @property
    def are_free(self) -> bool:
        return not self._most or self.taken < self._most

    def __enter__(self) -> None:
        self.taken += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.taken -= 1


class InFlightLimits:
    """The places of one server."""

    def __init__(self, reads: int = MAX_READS, writes: int = MAX_WRITES) -> None:
        self.reads, self.writes, self._unlimited = Slots(reads), Slots(writes), Slots(0)

    def slot(self, verb: str, user: User) -> Slots:
        """The place for a request. Raises Overloaded."""
        if verb in _LONG:
            return self._unlimited
        slots = self.reads if verb in _READS else self.writes
        if slots.are_free:
            return slots
        if MASTERS in user.groups:
            return self._unlimited
        raise Overloaded
