"""A server with routes (see `converting`) and the webhook that converts them, in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import httpx
import orjson

from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.watching import WatchEvent
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.testkit.converting import DEFINITIONS, NAME, a_definition, answer_to, converted

Found = TypeVar("Found")

CLIENT = {"url": "https://hooks.example.com/convert"}
DOWN = 'failed: Post "https://hooks.example.com/convert?timeout=30s"'


class Hook:
    """The webhook: notes the reviews it gets, may be down, and may convert otherwise."""

    def __init__(self) -> None:
        self.reviews: list[Object] = []
        self.is_down = False
        self.convert: Callable[[Object, str], Object] = converted
        self.admitted: list[Object] = []  # requests for admission, which it answers with `admission`
        self.admission: Object = {}

    async def answer(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("down", request=request) from ConnectionRefusedError(111, "refused")
        await asyncio.sleep(0.01)
        review = orjson.loads(request.content)
        if review["kind"] == "AdmissionReview":
            self.admitted.append(review["request"])
            answer = {"uid": review["request"]["uid"], "allowed": True, **self.admission}
            return httpx.Response(200, json={**review, "response": answer})
        self.reviews.append(review)
        return httpx.Response(200, json=answer_to(review, self.convert))

    @property
    def asked(self) -> list[tuple[str, int]]:
        """(version wanted, number of objects) of every review so far; forgets them."""
        told, self.reviews = [review["request"] for review in self.reviews], []
        return [(request["desiredAPIVersion"], len(request["objects"])) for request in told]


def with_hook(
    check: Callable[[Cluster, Hook], Coroutine[Any, Any, Found]],
    definition: Object | None = None,
) -> Found:
    """Run `check` where routes are served."""
    hook = Hook()

    async def checked(cluster: Cluster) -> Found:
        await cluster.create(definition or a_definition(client=CLIENT), DEFINITIONS)
        await cluster.eventually(lambda: is_established(cluster))
        return await check(cluster, hook)

    return run_cluster(checked, webhook_transports=lambda _: httpx.MockTransport(hook.answer))


async def is_established(cluster: Cluster) -> bool:
    definition = await cluster.api.get(DEFINITIONS, NAME)
    return conditions.is_true(conditions.conditions_of(definition), "Established")


async def change_definition(cluster: Cluster, wanted: Object) -> None:
    """And wait until it counts."""
    await cluster.patch(wanted, {"spec": wanted["spec"]}, DEFINITIONS)
    await cluster.settled()


async def get(cluster: Cluster, resource: Resource, name: str = "a", subresource: str = "") -> Object:
    return await cluster.api.get(resource, name, "default", subresource)


async def patch(cluster: Cluster, resource: Resource, change: Any, **options: Any) -> Object:
    return await cluster.api.patch(resource, "a", change, "default", **options)


async def events(cluster: Cluster, resource: Resource, number: int, version: str = "", **more: Any) -> list[WatchEvent]:
    seen: list[WatchEvent] = []
    async with aclosing(cluster.api.watch(resource, "default", resource_version=version, **more)) as stream:
        async for event in stream:
            seen.append(event)
            if len(seen) == number:
                break
    return seen
