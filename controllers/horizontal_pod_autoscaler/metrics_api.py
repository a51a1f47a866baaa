"""Reading the three metrics APIs, which other servers provide: metrics.k8s.io, custom and external metrics.

Values are in thousandths. NoProposal says what is lacking, where an API is not served too.
pkg/controller/podautoscaler/metrics/client.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from controllers.horizontal_pod_autoscaler.answers import in_words
from controllers.horizontal_pod_autoscaler.model import Json
from controllers.horizontal_pod_autoscaler.replicas import NoProposal, Sample, Samples
from controllers.horizontal_pod_autoscaler.target import Kinds, NoTarget
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.quantity import MAX_INT64, milli_value
from kubeloop.apimachinery.selectors import Selector
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.flags import duration

RESOURCE, CUSTOM, EXTERNAL = "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"

_CUSTOM_VERSIONS = ("v1beta2", "v1beta1")
_DEFAULT_WINDOW_SECONDS = 60.0


class MetricsApi:
    def __init__(self, api: Api, kinds: Kinds) -> None:
        self._api, self._kinds = api, kinds

    async def of_resource(self, resource: str, namespace: str, selector: Selector, container: str = "") -> Samples:
        """By pod; of the named container, or of all together. A pod of which a part is unknown is left out."""
        path = f"/apis/{RESOURCE}/v1beta1/namespaces/{namespace}/pods"
        items = await self._items("resource", path, f"get pods.{RESOURCE}", {"labelSelector": str(selector)})
        usages = ((item, _usage(item, resource, container)) for item in items)
        return {
            item["metadata"]["name"]: Sample(used, parse_time(item["timestamp"]), duration(item.get("window") or "0"))
            for item, used in usages
            if used is not None
        }

    async def of_pods(self, metric: str, namespace: str, pods: Selector, selector: Selector) -> Samples:
        query = {"labelSelector": str(pods), "metricLabelSelector": str(selector)}
        path = f"/namespaces/{namespace}/pods/*/{quote(metric, safe='')}"
        items = await self._custom_items(path, f"get pods.{CUSTOM} *", query)
        if not items:
            raise NoProposal("no metrics returned from custom metrics API")
        return {
            item["describedObject"]["name"]: Sample(
                milli_value(item["value"]),
                parse_time(item["timestamp"]),
                float(item.get("windowSeconds", _DEFAULT_WINDOW_SECONDS)),
            )
            for item in items
        }

    async def of_object(self, metric: str, namespace: str, reference: Json, selector: Selector) -> int:
        """Of an object of the autoscaler's namespace, or of the namespace itself."""
        name = quote(reference["name"], safe="")
        if reference["kind"] == "Namespace" and "/" not in (reference.get("apiVersion") or ""):
            place, asked = f"/namespaces/{namespace}/metrics", f"get namespaces.{CUSTOM} {namespace}"
        else:
            try:
                resource = await self._kinds.resource_of(reference)
            except NoTarget as error:
                raise _unable("custom", str(error)) from error
            place = f"/namespaces/{namespace}/{resource}/{name}"
            asked = f"get {resource}.{CUSTOM} {reference['name']}"
        query = {"metricLabelSelector": str(selector)}
        items = await self._custom_items(f"{place}/{quote(metric, safe='')}", asked, query)
        if len(items) != 1:
            why = f"the custom metrics API server returned {len(items)} results when we asked for exactly one"
            raise _unable("custom", why)
        return milli_value(items[0]["value"])

    async def external(self, metric: str, namespace: str, selector: Selector) -> int:
        """The sum of all series, within 64 bits."""
        path = f"/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/{quote(metric, safe='')}"
        query = {"labelSelector": str(selector)}
        items = await self._items("external", path, f"get {metric}.{EXTERNAL}", query)
        return min(sum(milli_value(item["value"]) for item in items), MAX_INT64)

    async def _items(self, name: str, path: str, asked: str, query: Json) -> Sequence[Any]:
        items = (await self._read(name, path, asked, query)).get("items") or ()
        if not items:
            raise NoProposal(f"no metrics returned from {name} metrics API")
        return items

    async def _custom_items(self, path: str, asked: str, query: Json) -> Sequence[Any]:
        version = await self._custom_version()
        answer = await self._read("custom", f"/apis/{CUSTOM}/{version}{path}", asked, query)
        return answer.get("items") or ()

    async def _custom_version(self) -> str:
        """The version the server prefers of those that are known here."""
        try:
            group = await self._api.request("GET", f"/apis/{CUSTOM}")
        except NotFound as error:
            raise _unable("custom", f"no custom metrics API ({CUSTOM}) registered") from error
        served = [one["version"] for one in group.get("versions") or ()]
        preferred = (group.get("preferredVersion") or {}).get("version")
        for version in (preferred, *served):
            if version in _CUSTOM_VERSIONS:
                return str(version)
        raise _unable("custom", f"no known available metric versions found ({served})")

    async def _read(self, name: str, path: str, asked: str, query: Json) -> Json:
        try:
            answer: Json = await self._api.request("GET", path, query=query)
        except ConnectionFailed:
            raise
        except ApiError as error:
            raise _unable(name, in_words(error, asked)) from error
        return answer


def _usage(item: Json, resource: str, container: str) -> int | None:
    containers = item.get("containers") or ()
    if container:
        containers = [one for one in containers if one["name"] == container]
    used = [(one.get("usage") or {}).get(resource) for one in containers]
    if not used or None in used:
        return None
    return sum(milli_value(quantity) for quantity in used)


def _unable(name: str, why: str) -> NoProposal:
    return NoProposal(f"unable to fetch metrics from {name} metrics API: {why}")
