"""A PUT that would create needs the right to create."""

from __future__ import annotations

import random

from apiserver.auth.authentication import User
from apiserver.registry.context import Context
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.testing import virtual_time

LEASE: Object = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"holderIdentity": "x"}}


def put(user: User) -> bool | Forbidden:
    """Whether the PUT of an absent Lease created it, or how it was refused."""

    async def run() -> bool | Forbidden:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1))
        async with server.running():
            kind = server.registry.catalog.get("coordination.k8s.io", "v1", "leases")
            assert kind is not None
            context = Context(user, "default", "a", field_manager="test")
            try:
                _, created = await server.registry.store(kind).update(deep_copy(LEASE), context)
            except Forbidden as refused:
                return refused
            return created

    return virtual_time.run(run())


def test_who_may_not_create_may_not_create_by_put():
    """Update alone is not enough, or every updater could make objects."""
    refused = put(User("bob"))

    assert 'User "bob" cannot create resource "leases"' in str(refused)


def test_who_may_create_may_do_so_by_put():
    """Leases are made this way by those who renew them."""
    assert put(User("alice", groups=("system:masters",))) is True
