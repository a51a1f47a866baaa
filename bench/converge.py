"""How long the loops take: a Deployment made, rolled to a new image, and deleted with everything that is its."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEPLOYMENTS, PODS
from kubeloop.client.api import STRATEGIC, Api

LIMIT_SECONDS = 240.0


async def converge(api: Api, namespace: str, replicas: int) -> tuple[float, float, float]:
    """Seconds until `replicas` pods are Ready, all are of a new template, and none is left."""
    name = f"web{replicas}"
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}

    async def is_ready() -> bool:
        return (await _status(api, name, namespace)).get("readyReplicas") == replicas

    async def is_rolled() -> bool:
        deployment = await api.get(DEPLOYMENTS, name, namespace)
        status = deployment.get("status", {})
        seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
        return seen and all(status.get(field) == replicas for field in ("updatedReplicas", "replicas", "readyReplicas"))

    async def is_gone() -> bool:
        return not (await api.list(PODS, namespace, label_selector=f"app={name}"))["items"]

    ready = await _timed(api.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec}, namespace), is_ready)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:1.28"}]}}}}
    rolled = await _timed(api.patch(DEPLOYMENTS, name, image, namespace, patch_type=STRATEGIC), is_rolled)
    gone = await _timed(api.delete(DEPLOYMENTS, name, namespace, propagation_policy="Background"), is_gone)
    return ready, rolled, gone


async def _status(api: Api, name: str, namespace: str) -> Object:
    status: Object = (await api.get(DEPLOYMENTS, name, namespace)).get("status", {})
    return status


async def _timed(act: Awaitable[object], is_done: Callable[[], Awaitable[bool]]) -> float:
    began = time.perf_counter()
    await act
    while not await is_done():
        if time.perf_counter() - began > LIMIT_SECONDS:
            raise TimeoutError(f"not done after {LIMIT_SECONDS:.0f} s")
        await asyncio.sleep(0.05)
    return time.perf_counter() - began
