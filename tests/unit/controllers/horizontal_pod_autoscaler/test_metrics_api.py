"""Reading what metrics servers say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from controllers.horizontal_pod_autoscaler.metrics_api import MetricsApi
from controllers.horizontal_pod_autoscaler.replicas import NoProposal, Sample
from controllers.horizontal_pod_autoscaler.target import Kinds
from kubeloop.apimachinery.selectors import EVERYTHING, from_labels
from kubeloop.client.api import Api
from kubeloop.testing.virtual_time import LoopClock
from tests.unit.controllers.workloads import NOW, seconds_ago

WEB = from_labels({"app": "web"})
TAKEN = seconds_ago(0)
CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io", "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"
SERVES_CUSTOM = {
    CUSTOM: {"versions": [{"version": "v1beta1"}, {"version": "v1beta2"}], "preferredVersion": {"version": "v1beta2"}},
    "/apis/apps": {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}]},
}


def ask(answers: Mapping[str, Any], question: Callable[[MetricsApi], Coroutine[Any, Any, Any]]) -> Any:
    """`answers` by path and query; a text is no Status and comes with code 503, what is not there with 404."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.raw_path.decode())
        if isinstance(found, str):
            return httpx.Response(503, text=found)
        return httpx.Response(200, json=found) if found else httpx.Response(404, text="404 page not found\n")

    async def main() -> Any:
        async with Api("http://server", httpx.MockTransport(answer)) as api:
            return await question(MetricsApi(api, Kinds(api, LoopClock())))

    return asyncio.run(main())


def pod_metrics(name: str, **cpu_by_container: str) -> Any:
    containers = [{"name": one, "usage": {"cpu": cpu, "memory": "1Ki"}} for one, cpu in cpu_by_container.items()]
    return {"metadata": {"name": name}, "timestamp": TAKEN, "window": "1m30s", "containers": containers}


@pytest.mark.parametrize(("container", "expected"), [("", {"a": 350, "b": 2}), ("side", {"a": 100}), ("nobody", {})])
def test_usage_of_pods(container: str, expected: dict[str, int]) -> None:
    """Of all containers together or of one; a pod of which something is unknown is left out."""
    unknown = {**pod_metrics("c", web="1"), "containers": [{"name": "web", "usage": {}}]}
    items = [pod_metrics("a", web="250m", side="100m"), pod_metrics("b", web="1500u"), unknown]
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb"

    found = ask({path: {"items": items}}, lambda api: api.of_resource("cpu", "default", WEB, container))

    assert expected == {pod: sample.value for pod, sample in found.items()}
    assert {(NOW.astimezone(UTC), 90.0)} >= {(one.taken_at, one.window_seconds) for one in found.values()}


def test_custom_metrics_of_pods() -> None:
    """In the version that the server prefers; a minute is the window that it does not name."""
    item = {"describedObject": {"name": "a"}, "timestamp": TAKEN, "value": "1500m"}
    path = f"{CUSTOM}/v1beta2/namespaces/default/pods/*/hits?labelSelector=app%3Dweb"

    found = ask({**SERVES_CUSTOM, path: {"items": [item]}}, lambda api: api.of_pods("hits", "default", WEB, EVERYTHING))

    assert {"a": Sample(1500, datetime.fromisoformat(TAKEN), 60.0)} == found


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "deployments.apps/web"),
        ({"apiVersion": "v1", "kind": "Namespace", "name": "ignored"}, "metrics"),
    ],
)
def test_a_custom_metric_of_an_object(reference: dict[str, str], place: str) -> None:
    """Objects are named with their resource and group; of namespaces there is only one's own."""
    path = f"{CUSTOM}/v1beta2/namespaces/default/{place}/hits"

    found = ask(
        {**SERVES_CUSTOM, path: {"items": [{"value": "7"}]}},
        lambda api: api.of_object("hits", "default", reference, EVERYTHING),
    )

    assert 7000 == found


def test_an_external_metric_is_a_sum() -> None:
    """Of all series that the selector picks."""
    path = f"{EXTERNAL}/queue?labelSelector=app%3Dweb"

    found = ask(
        {path: {"items": [{"value": "2"}, {"value": "500m"}]}}, lambda api: api.external("queue", "default", WEB)
    )

    assert 2500 == found


@pytest.mark.parametrize(
    ("answers", "question", "why"),
    [
        (
            {"/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb": "service unavailable\n"},
            lambda api: api.of_resource("cpu", "default", WEB),
            "unable to fetch metrics from resource metrics API: the server is currently unable to handle the request"
            " (get pods.metrics.k8s.io)",
        ),
        (
            {"/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb": {"items": []}},
            lambda api: api.of_resource("cpu", "default", WEB),
            "no metrics returned from resource metrics API",
        ),
        (
            SERVES_CUSTOM,
            lambda api: api.of_pods("hits", "default", WEB, EVERYTHING),
            "unable to fetch metrics from custom metrics API: the server could not find the requested resource"
            " (get pods.custom.metrics.k8s.io *)",
        ),
        (
            SERVES_CUSTOM,
            lambda api: api.of_object(
                "hits", "default", {"apiVersion": "apps/v1", "kind": "Gizmo", "name": "x"}, EVERYTHING
            ),
            'unable to fetch metrics from custom metrics API: no matches for kind "Gizmo" in group "apps"',
        ),
    ],
)
def test_what_is_lacking_is_said(
    answers: Mapping[str, Any], question: Callable[[MetricsApi], Coroutine[Any, Any, Any]], why: str
) -> None:
    """In the words of real clusters."""
    with pytest.raises(NoProposal) as raised:
        ask(answers, question)

    assert why == str(raised.value)
