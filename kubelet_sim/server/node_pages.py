"""What a kubelet says of its node: health, pods, metrics, and the summary of what they use.

Who is meant stands in a header, as one process plays many nodes. Facts: pkg/kubelet/server/server.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import orjson

from kubelet_sim.server import node_usage
from kubelet_sim.server.exchange import TEXT, Exchange, Refused
from kubelet_sim.server.node_disks import claims_of
from kubelet_sim.server.pods import Pods, running_ids
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.exposition import GAUGE, Family, Sample, text
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.http_request import Request

_JSON = "application/json"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_CHECKS = ((), ("log",), ("ping",), ("syncloop",))
_NOT_FOUND = "404 page not found"


@dataclass(frozen=True, slots=True)
class Usage:
    """`of_pod`: a pod with what it says that it uses, under faults, too. `of_images`: the bytes of those on a node."""

    of_pod: Callable[[ReadOnlyObject], ReadOnlyObject]
    of_images: Callable[[str], int]


class NodePages:
    def __init__(self, api: Api, pods: Pods, nodes: Informer, usage: Usage, clock: Clock) -> None:
        self._api, self._pods, self._nodes, self._usage, self._clock = api, pods, nodes, usage, clock

    async def healthz(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        self._node(request, exchange)
        if path not in _CHECKS:
            raise Refused(404, _NOT_FOUND)
        await _answer(request, exchange, "ok", TEXT)

    async def pods(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        node = self._node(request, exchange)
        await self._list(request, path, exchange, self._pods.on(node["metadata"]["name"]))

    async def running_pods(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        node = self._node(request, exchange)
        found = [pod for pod in self._pods.on(node["metadata"]["name"]) if any(running_ids(pod))]
        await self._list(request, path, exchange, found)

    async def metrics(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        node = self._node(request, exchange)
        if path == ("resource",):
            families = node_usage.resource_metrics(node, self._users(node), self._clock.now())
        elif not path:
            families = _own_metrics(node, self._pods.on(node["metadata"]["name"]))
        else:
            raise Refused(404, _NOT_FOUND)
        await _answer(request, exchange, text(families), _METRICS)

    async def stats(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        node = self._node(request, exchange)
        if path != ("summary",):
            raise Refused(404, _NOT_FOUND)
        pods, image_bytes = self._users(node), self._usage.of_images(node["metadata"]["name"])
        claims = await self._claims(pods)
        summary = node_usage.summary(node, pods, self._clock.now(), image_bytes, claims)
        await _answer(request, exchange, orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode(), _JSON)

    def _users(self, node: Object) -> list[ReadOnlyObject]:
        return [self._usage.of_pod(pod) for pod in self._pods.on(node["metadata"]["name"])]

    async def _claims(self, pods: Sequence[ReadOnlyObject]) -> dict[ObjectKey, int]:
        """The claims of the pods that are bound, with what they hold in bytes."""
        found: dict[ObjectKey, int] = {}
        for key in sorted(claims_of(pods)):
            with suppress(NotFound):
                claim = await self._api.get(PERSISTENT_VOLUME_CLAIMS, key.name, key.namespace)
                capacity = ((claim.get("status") or {}).get("capacity") or {}).get("storage")
                if capacity:
                    found[key] = parse(str(capacity)).value()
        return found

    def _node(self, request: Request, exchange: Exchange) -> Object:
        name = self._pods.asked_node(request, exchange)
        node = self._nodes.get(ObjectKey("", name))
        if node is None:
            raise Refused(404, _NOT_FOUND)
        return node

    async def _list(self, request: Request, path: tuple[str, ...], exchange: Exchange, found: Sequence[Object]) -> None:
        if path:
            raise Refused(404, _NOT_FOUND)
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": found}
        await _answer(request, exchange, orjson.dumps(listed).decode(), _JSON)


async def _answer(request: Request, exchange: Exchange, body: str, content_type: str) -> None:
    if request.method not in ("GET", "HEAD"):
        raise Refused(405, "405: Method Not Allowed")
    await exchange.answer(200, body, content_type, has_body=request.method == "GET")


def _own_metrics(node: Object, pods: Sequence[Object]) -> Iterator[Family]:
    running = [sum(1 for _ in running_ids(pod)) for pod in pods]
    name = node["metadata"]["name"]
    version = ((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or ""
    yield Family("kubelet_node_name", GAUGE, "The node's name. The count is always 1.", [Sample({"node": name}, 1)])
    yield Family(
        "kubelet_running_pods",
        GAUGE,
        "Number of pods that have a running pod sandbox",
        [Sample({}, sum(1 for count in running if count))],
    )
    yield Family(
        "kubelet_running_containers",
        GAUGE,
        "Number of containers currently running",
        [Sample({"container_state": "running"}, sum(running))],
    )
    yield Family(
        "kubernetes_build_info",
        GAUGE,
        "A metric with a constant '1' value labeled by version.",
        [Sample({"git_version": version}, 1)],
    )
