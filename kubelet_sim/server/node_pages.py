"""What a kubelet says of its node: health, pods, metrics, and the summary of what they use.

Who is meant stands in a header, as one process plays many nodes. Facts: pkg/kubelet/server/server.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import orjson

from kubelet_sim.server import node_usage
from kubelet_sim.server.exchange import TEXT, Exchange, Refused
from kubelet_sim.server.pods import Pods, running_ids
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.exposition import GAUGE, Family, Sample, text
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.client.informer import Informer
from kubeloop.runtime.http_request import Request

_JSON = "application/json"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_CHECKS = ((), ("log",), ("ping",), ("syncloop",))
_NOT_FOUND = "404 page not found"

AsUsed = Callable[[ReadOnlyObject], ReadOnlyObject]  # a pod -> with what it says that it uses under faults


class NodePages:
    def __init__(self, pods: Pods, nodes: Informer, as_used: AsUsed, clock: Clock) -> None:
        self._pods, self._nodes, self._as_used, self._clock = pods, nodes, as_used, clock

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
        summary = node_usage.summary(node, self._users(node), self._clock.now())
        await _answer(request, exchange, orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode(), _JSON)

    def _users(self, node: Object) -> list[ReadOnlyObject]:
        return [self._as_used(pod) for pod in self._pods.on(node["metadata"]["name"])]

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
