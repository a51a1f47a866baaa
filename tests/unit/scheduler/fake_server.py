"""The little of an API server that the scheduler's loop needs, in memory: pods, nodes, bindings, events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.metrics_interface import NO_METRICS, SchedulerMetrics
from controllers.scheduler.profile import Profile
from controllers.scheduler.scheduler import Scheduler
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of
from kubeloop.apimachinery.resource import NODES, PODS, Resource
from kubeloop.client.store import Delta
from kubeloop.testing.virtual_time import LoopClock, run
from tests.unit.scheduler.scene import FakeLister


class FakeServer:
    """`bind_seconds`: how long a binding takes. `refusals`: raised by the next bindings, in order."""

    def __init__(
        self,
        profiles: Sequence[Profile] = (Profile(),),
        bind_seconds: float = 0.1,
        extenders: Extenders = NO_EXTENDERS,
        metrics: SchedulerMetrics = NO_METRICS,
    ) -> None:
        self.clock = LoopClock()
        self.bind_seconds = bind_seconds
        self.refusals: list[ApiError] = []
        self.events: list[Object] = []
        self.status_patches: list[Object] = []
        self.binding_now = self.most_bindings = 0
        self._listers: dict[Resource, FakeLister] = {}
        self._uids = 0
        self.scheduler = Scheduler(
            self,  # type: ignore[arg-type]
            self.clock,
            random.Random(1),
            profiles,
            lister=self.lister,
            pods=self.lister(PODS),
            extenders=extenders,
            metrics=metrics,
        )

    def lister(self, resource: Resource) -> FakeLister:
        return self._listers.setdefault(resource, FakeLister())

    # What a test does ----------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Create or replace it, and let the scheduler know."""
        self._uids += 1
        resource = NODES if obj["kind"] == "Node" else PODS
        old = self.lister(resource).get(key_of(obj))
        uid = old["metadata"]["uid"] if old else f"uid-{self._uids}"
        new = {"status": {}, **obj, "metadata": {"uid": uid, **obj["metadata"], "resourceVersion": str(self._uids)}}
        self.lister(resource).objects[key_of(obj)] = new
        self._tell(resource, Delta(old, new))

    def remove(self, name: str, namespace: str = "default") -> None:
        old = self.lister(PODS).objects.pop(ObjectKey(namespace, name))
        self._tell(PODS, Delta(old, None))

    def pod(self, name: str) -> Object:
        found = self.lister(PODS).get(ObjectKey("default", name))
        assert found is not None
        return found

    def node_of(self, name: str) -> str:
        return self.pod(name)["spec"].get("nodeName", "")

    def condition(self, name: str) -> Object:
        """PodScheduled."""
        conditions = self.pod(name)["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "PodScheduled"), {})

    def notes(self, reason: str) -> list[str]:
        return [event["note"] for event in self.events if event["reason"] == reason]

    # What the scheduler asks ---------------------------------------------------------------------------------------

    async def create(
        self, resource: Resource, obj: Object, namespace: str = "", *, subresource: str = "", name: str = ""
    ) -> Object:
        if resource.kind == "Event":
            self.events.append(obj)
            return obj
        assert subresource == "binding"
        self.binding_now += 1
        self.most_bindings = max(self.most_bindings, self.binding_now)
        await self.clock.sleep(self.bind_seconds)
        self.binding_now -= 1
        if self.refusals:
            raise self.refusals.pop(0)
        pod = self.lister(PODS).get(ObjectKey(namespace, name))
        if pod is None:
            raise NotFound.of("pods", "", name)
        self.put({**pod, "spec": {**pod["spec"], "nodeName": obj["target"]["name"]}})
        return obj

    async def patch(self, resource: Resource, name: str, patch: Object, namespace: str = "", **how: Any) -> Object:
        if resource.kind == "Event":
            event = next(event for event in self.events if event["metadata"]["name"] == name)
            event["series"] = patch["series"]
            return event
        pod = self.lister(PODS).get(ObjectKey(namespace, name))
        if pod is None:
            raise NotFound.of("pods", "", name)
        self.status_patches.append(patch)
        status = dict(pod["status"])
        for condition in patch["status"].get("conditions", ()):
            others = [other for other in status.get("conditions", ()) if other["type"] != condition["type"]]
            status["conditions"] = [*others, condition]
        if "nominatedNodeName" in patch["status"]:
            status["nominatedNodeName"] = patch["status"]["nominatedNodeName"]
        self.put({**pod, "status": status})
        return self.pod(name)

    async def delete(self, resource: Resource, name: str, namespace: str = "", **how: Any) -> Object:
        self.remove(name, namespace)
        return {}

    def _tell(self, resource: Resource, delta: Delta) -> None:
        handlers = self.scheduler.handlers
        (handlers.on_node if resource is NODES else handlers.on_pod)(delta)


def with_scheduler(test: Callable[[FakeServer], Coroutine[Any, Any, Any]], **how: Any) -> Any:
    """Run `test` beside a running scheduler, on virtual time."""

    async def main() -> Any:
        server = FakeServer(**how)
        running = asyncio.create_task(server.scheduler.run())
        try:
            return await test(server)
        finally:
            running.cancel()
            await asyncio.wait([running])

    return run(main())
