"""The metrics server's requests, as an ASGI application: a few paths, GET only.

It asks nobody who he is: the API server in front of it has, and authorized him, and nobody else reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote

import orjson

from kubelet_sim.metrics import documents, objects
from kubelet_sim.metrics.scraper import Scraper
from kubeloop.apimachinery import field_selectors, selector_text
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, BadRequest, MethodNotAllowed, NotFound, ServiceUnavailable
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, labels_of, metadata
from kubeloop.apimachinery.selectors import SelectorError

Query = Mapping[str, Sequence[str]]

_BASE = ["apis", objects.GROUP, objects.VERSION]
_TABLE = "as=Table"
_DOCUMENTS: Mapping[str, Object] = {
    f"/apis/{objects.GROUP}": documents.API_GROUP,
    f"/apis/{objects.API_VERSION}": documents.API_RESOURCES,
    "/openapi/v3": documents.OPENAPI_INDEX,
    f"/openapi/v3/{documents.OPENAPI_PATH}": documents.OPENAPI,
}


class Application:
    def __init__(self, scraper: Scraper, clock: Clock, is_ready: Callable[[], bool]) -> None:
        """`is_ready`: whether the scraper knows the world; until then everything is answered with 503."""
        self._scraper, self._clock, self._is_ready = scraper, clock, is_ready

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        accept = headers.get(b"accept", b"").decode("latin-1")
        content_type = "application/json"
        try:
            query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            status, answer = 200, self._answer(scope["method"], scope["path"], query, accept)
            if answer is documents.DISCOVERY:
                content_type = documents.AGGREGATED
        except ApiError as error:
            status, answer = error.code, error.to_status()
        body = orjson.dumps(answer)
        head = [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, method: str, path: str, query: Query, accept: str) -> Object:
        if not self._is_ready():
            raise ServiceUnavailable("the metrics server has not read the cluster yet", details={})
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed("the server does not allow this method on the requested resource", details={})
        if path == "/apis":
            return documents.DISCOVERY if "as=APIGroupDiscoveryList" in accept else documents.API_GROUPS
        if path in _DOCUMENTS:
            return _DOCUMENTS[path]
        segments = [unquote(segment) for segment in path.strip("/").split("/")]
        if segments[:3] != _BASE:
            raise _nothing()
        return self._metrics(segments[3:], query, accept)

    def _metrics(self, segments: Sequence[str], query: Query, accept: str) -> Object:
        match segments:
            case ["nodes"]:
                return _shown(objects.list_of, "NodeMetrics", self._nodes(query), query, accept)
            case ["nodes", name]:
                return _shown(_the_one, "NodeMetrics", [self._node(name)], query, accept)
            case ["pods"]:
                return _shown(objects.list_of, "PodMetrics", self._pods("", query), query, accept)
            case ["namespaces", namespace, "pods"]:
                return _shown(objects.list_of, "PodMetrics", self._pods(namespace, query), query, accept)
            case ["namespaces", namespace, "pods", name]:
                return _shown(_the_one, "PodMetrics", [self._pod(namespace, name)], query, accept)
        raise _nothing()

    def _nodes(self, query: Query) -> list[Object]:
        readings, now, wanted = self._scraper.readings().nodes, self._clock.now(), _filter(query)
        nodes = sorted(filter(wanted, self._scraper.nodes.list()), key=_name)
        return [objects.node_metrics(node, readings[_name(node)], now) for node in nodes if _name(node) in readings]

    def _node(self, name: str) -> Object:
        node = self._scraper.nodes.get(ObjectKey("", name))
        if node is None:
            raise NotFound.of("node", "", name)
        reading = self._scraper.readings().nodes.get(name)
        if reading is None:
            raise NotFound.of("nodes", objects.GROUP, name)
        return objects.node_metrics(node, reading, self._clock.now())

    def _pods(self, namespace: str, query: Query) -> list[Object]:
        readings, now, wanted = self._scraper.readings().pods, self._clock.now(), _filter(query)
        found = [
            (metadata(pod)["namespace"], _name(pod), pod) for pod in filter(wanted, self._scraper.pods.list(namespace))
        ]
        return [
            objects.pod_metrics(pod, readings[ObjectKey(where, name)], now)
            for where, name, pod in sorted(found, key=lambda one: one[:2])
            if ObjectKey(where, name) in readings
        ]

    def _pod(self, namespace: str, name: str) -> Object:
        key = ObjectKey(namespace, name)
        pod = self._scraper.pods.get(key)
        if pod is None:
            raise NotFound.of("pods", "", f"{namespace}/{name}")
        reading = self._scraper.readings().pods.get(key)
        if reading is None:
            raise NotFound.of("pods", objects.GROUP, f"{namespace}/{name}")
        return objects.pod_metrics(pod, reading, self._clock.now())


def _shown(
    plain: Callable[[str, Sequence[Object]], Object], kind: str, items: Sequence[Object], query: Query, accept: str
) -> Object:
    """As a table where the client prefers one."""
    preferred = accept.partition(",")[0].replace(" ", "")
    if _TABLE not in preferred:
        return plain(kind, items)
    version = "v1beta1" if "v=v1beta1" in preferred else "v1"
    return objects.table(items, version, (query.get("includeObject") or ("",))[0])


def _the_one(kind: str, items: Sequence[Object]) -> Object:
    return items[0]


def _filter(query: Query) -> Callable[[ReadOnlyObject], bool]:
    """By label selector, and by the fields metadata.name and metadata.namespace. Raises BadRequest."""
    try:
        labels = selector_text.parse((query.get("labelSelector") or ("",))[0])
        fields = field_selectors.parse((query.get("fieldSelector") or ("",))[0])
    except SelectorError as error:
        raise BadRequest(str(error)) from error

    def wanted(obj: ReadOnlyObject) -> bool:
        known = {f"metadata.{name}": metadata(obj).get(name) or "" for name in ("name", "namespace")}
        return labels.matches(labels_of(obj)) and fields.matches(known)

    return wanted


def _name(obj: ReadOnlyObject) -> str:
    return str(metadata(obj)["name"])


def _nothing() -> NotFound:
    return NotFound("the server could not find the requested resource", details={})
