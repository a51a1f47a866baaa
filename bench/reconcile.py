"""What the runtime costs a reconcile: the way of a key through the queue, and of an event through two controllers.

python -m bench.reconcile
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import PODS, REPLICA_SETS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.clock import SystemClock
from kubeloop.runtime import DONE, LOW_PRIORITY, Controller, For, Owns, Result
from kubeloop.runtime.controller import Surroundings
from kubeloop.runtime.workqueue import RateLimitedQueue

KEYS = [ObjectKey("default", f"pod-{i}") for i in range(1000)]
ROUNDS = 100


class Nothing:
    """Reconciles nothing, and sets `is_done` whenever all keys have come by once more."""

    def __init__(self) -> None:
        self.is_done = asyncio.Event()
        self._count = 0

    async def reconcile(self, key: ObjectKey) -> Result:
        self._count += 1
        if self._count % len(KEYS) == 0:
            self.is_done.set()
        return DONE


async def least(work: Callable[[int], Awaitable[None]]) -> float:
    """Microseconds of CPU a key, the best of all rounds."""
    best = float("inf")
    for i in range(ROUNDS):
        began = time.process_time()
        await work(i)
        best = min(best, time.process_time() - began)
    return best / len(KEYS) * 1e6


async def through_the_queue(priority: int) -> float:
    queue: RateLimitedQueue[ObjectKey] = RateLimitedQueue(SystemClock())

    async def work(_: int) -> None:
        for key in KEYS:
            queue.add(key, priority)
        for _ in range(len(KEYS)):
            key = await queue.get()
            queue.forget(key)
            queue.done(key)

    return await least(work)


async def through_two_controllers() -> float:
    informer = Informer(Api("http://127.0.0.1:1"), Scope(PODS), SystemClock(), random.Random(1))
    reconcilers = [Nothing(), Nothing()]
    controllers = [
        Controller("a", reconcilers[0], [For(informer)]),
        Controller("b", reconcilers[1], [Owns(informer, REPLICA_SETS)]),
    ]
    for controller in controllers:
        controller.prepare(Surroundings(SystemClock()))
    running = [asyncio.create_task(controller.run()) for controller in controllers]
    informer.notify([])
    await asyncio.sleep(0)

    async def work(version: int) -> None:
        for key in KEYS:
            informer.notify([informer.store.put(a_pod(key, version))])
        for reconciler in reconcilers:
            await reconciler.is_done.wait()
            reconciler.is_done.clear()

    found = await least(work)
    for task in running:
        task.cancel()
    return found


def a_pod(key: ObjectKey, version: int) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"of-{key.name}", "uid": "u", "controller": True}
    names = {"namespace": key.namespace, "name": key.name, "resourceVersion": str(version)}
    return {"metadata": {**names, "ownerReferences": [owner]}}


async def main() -> None:
    print(f"one key through the queue                  {await through_the_queue(0):6.2f} us CPU")
    print(f"the same at low priority                   {await through_the_queue(LOW_PRIORITY):6.2f} us CPU")
    print(f"one event through two controllers          {await through_two_controllers():6.2f} us CPU")


if __name__ == "__main__":
    asyncio.run(main())
