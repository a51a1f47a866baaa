"""Stored objects as one version of a kind shows them, each made once and then shared by all who read it.

Making one may take a call of a webhook. So readers that want the same object wait for the first of them: a thousand
watchers of one change cost one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from apiserver.storage.interface import Stored
from kubeloop.apimachinery.errors import ApiError

MAX_BYTES = 32 << 20

Make = Callable[[Sequence[Stored]], Awaitable[Sequence[Stored]]]
# A dry run has a body of its own at the revision of another, hence both.
_Id = tuple[int, bytes]
# What became of a call: the objects; the text it was refused with; None where whoever waits has to see for himself.
_Outcome = Mapping[_Id, Stored] | str | None


class ShownObjects:
    """Remembers what `make` made. Not more than `max_bytes` of bodies: full, the oldest is forgotten and made again
    when it is asked for.
    """

    def __init__(self, make: Make, max_bytes: int = MAX_BYTES) -> None:
        self._make, self._max_bytes, self._bytes = make, max_bytes, 0
        self._made: dict[_Id, Stored] = {}
        self._under_way: dict[_Id, asyncio.Future[_Outcome]] = {}

    async def of(self, items: Sequence[Stored]) -> Sequence[Stored]:
        """In the same order. Raises what `make` raises."""
        found = [self._made.get(_id(stored)) for stored in items]
        if None in found:
            made = await self._all_of({_id(stored): stored for stored in items})
            return [made[_id(stored)] for stored in items]
        return [stored for stored in found if stored is not None]

    async def _all_of(self, wanted: Mapping[_Id, Stored]) -> Mapping[_Id, Stored]:
        """Make what nobody is making yet, and wait for the rest."""
        found: dict[_Id, Stored] = {}
        while True:
            found |= {key: self._made[key] for key in wanted if key not in found and key in self._made}
            left = [key for key in wanted if key not in found]
            if not left:
                return found
            if mine := [key for key in left if key not in self._under_way]:
                found |= await self._make_for_all({key: wanted[key] for key in mine})
                continue
            promise = self._under_way[left[0]]
            await asyncio.wait([promise])  # which the end of this one reader does not cancel
            outcome = promise.result()
            if isinstance(outcome, str):
                raise ApiError(outcome, code=500)
            found |= {key: outcome[key] for key in left if outcome and key in outcome}

    async def _make_for_all(self, wanted: Mapping[_Id, Stored]) -> Mapping[_Id, Stored]:
        promise: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._under_way |= dict.fromkeys(wanted, promise)
        outcome: _Outcome = None
        try:
            made = dict(zip(wanted, await self._make(list(wanted.values())), strict=True))
            for key, stored in made.items():
                self._remember(key, stored)
            outcome = made
            return made
        except ApiError as error:
            if len(wanted) == 1:  # else it may be another's fault
                outcome = error.message
            raise
        finally:
            for key in wanted:
                del self._under_way[key]
            promise.set_result(outcome)

    def _remember(self, key: _Id, stored: Stored) -> None:
        self._made[key] = stored
        self._bytes += len(stored.body)
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._made))
            self._bytes -= len(self._made.pop(oldest).body)


def _id(stored: Stored) -> _Id:
    return stored.revision, stored.body
