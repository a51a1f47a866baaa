"""The cluster around an object: what its kind's strategy may look up and write beside it.

A Service's address is an object of its own, and so a Service cannot be stored or removed without a second write.
`server_cluster.py` implements `Cluster` over the server's own stores; tests over a dict.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import Protocol

from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object


class Cluster(Protocol):
    """The server's own hand: it is never refused for who it is, but passes admission as everybody."""

    @property
    def reader(self) -> Reader: ...

    @property
    def rng(self) -> random.Random: ...

    @property
    def service_ranges(self) -> Sequence[str]:
        """--service-cluster-ip-range: one CIDR, or one of each IP family; the first is the default family's."""
        ...

    async def fresh(self) -> None:
        """Return once `reader` sees every acknowledged write."""
        ...

    async def create(self, group: str, kind: str, obj: Object) -> None:
        """Store `obj`, which is the callee's from now on. AlreadyExists, or what admission refuses it with."""
        ...

    async def delete(self, group: str, kind: str, namespace: str, name: str) -> None:
        """Delete an object; none by that name is as good."""
        ...


class Allocation(Protocol):
    """What was given to an object that is about to be written. One of the two is called, once."""

    async def commit(self) -> None:
        """The object is stored: let go of what it no longer has."""
        ...

    async def revert(self) -> None:
        """It is not: let go of what it was given."""
        ...


class NothingAllocated:
    """Of a kind that needs nothing."""

    async def commit(self) -> None:
        pass

    async def revert(self) -> None:
        pass


NOTHING = NothingAllocated()


class Allocated:
    """While an object is checked and written, with what is unique in the cluster given to it."""

    __slots__ = ("_allocating", "_allocation")

    def __init__(self, allocating: Awaitable[Allocation]) -> None:
        self._allocating = allocating

    async def __aenter__(self) -> None:
        self._allocation = await self._allocating

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            await self._allocation.commit()
        else:
            await self._allocation.revert()
