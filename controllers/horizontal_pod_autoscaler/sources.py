"""One metric of an autoscaler: read it, and say how many replicas it calls for.

Each kind of source has its own words for what it is called and for what went wrong, which users look for.
pkg/controller/podautoscaler/horizontal.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from controllers.horizontal_pod_autoscaler import replicas
from controllers.horizontal_pod_autoscaler.metrics_api import MetricsApi
from controllers.horizontal_pod_autoscaler.model import Json
from controllers.horizontal_pod_autoscaler.plan import Measured, Unmeasured
from controllers.horizontal_pod_autoscaler.replicas import NoProposal, Proposal, Situation
from controllers.horizontal_pod_autoscaler.requests import requests_of
from controllers.label_selectors import as_go_prints
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import BINARY_SI, DECIMAL_SI, of_milli_value, parse
from kubeloop.apimachinery.selectors import EVERYTHING, Selector, SelectorError, from_label_selector


@dataclass(frozen=True, slots=True)
class Scene:
    """Whose metrics: the pods under a selector of a namespace."""

    namespace: str
    selector: Selector
    situation: Situation


class Sources:
    def __init__(self, metrics: MetricsApi) -> None:
        self._metrics = metrics
        self._kinds: dict[str, Callable[[Json, Scene], Awaitable[Measured | Unmeasured]]] = {
            "Resource": self._resource,
            "ContainerResource": self._container_resource,
            "Pods": self._pods,
            "Object": self._object,
            "External": self._external,
        }

    async def measure(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        return await self._kinds[metric["type"]](metric, scene)

    async def _resource(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        source = metric["resource"]
        resource = source["name"]
        try:
            proposal = await self._of_resource(source, scene)
        except NoProposal as error:
            told = f"failed to get {resource} resource metric value: {error}"
            return Unmeasured("FailedGetResourceMetric", str(error), told)
        current = _resource_value(resource, proposal)
        name = f"{resource} resource" + _share(proposal)
        return Measured(
            proposal.replicas, name, {"type": "Resource", "resource": {"name": resource, "current": current}}
        )

    async def _container_resource(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        source = metric["containerResource"]
        resource, container = source["name"], source["container"]
        try:
            proposal = await self._of_resource(source, scene, container)
        except NoProposal as error:
            told = f"failed to get {container} container metric value: {error}"
            return Unmeasured("FailedGetContainerResourceMetric", str(error), told)
        said = {"name": resource, "container": container, "current": _resource_value(resource, proposal)}
        is_share = proposal.utilization is not None
        name = f"{resource} container resource{_share(proposal)}" if is_share else f"{resource} resource"
        return Measured(proposal.replicas, name, {"type": "ContainerResource", "containerResource": said})

    async def _of_resource(self, source: Json, scene: Scene, container: str = "") -> Proposal:
        resource, target, situation = source["name"], source["target"], scene.situation
        average, percent = target.get("averageValue"), target.get("averageUtilization")
        if average is None and percent is None:
            raise NoProposal(
                "invalid resource metric source: neither an average utilization target nor an average value (usage)"
                " target was set"
            )
        with _explained(f"failed to get {resource} {'usage' if average is not None else 'utilization'}: "):
            with _explained(f"unable to get metrics for resource {resource}: "):
                samples = await self._metrics.of_resource(resource, scene.namespace, scene.selector, container)
            if average is not None:
                return replicas.by_average(situation, samples, resource, _milli(average))
            return replicas.by_utilization(
                situation, samples, resource, percent, lambda: requests_of(situation.pods, resource, container)
            )

    async def _pods(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        source = metric["pods"]
        name, target = source["metric"]["name"], _milli(source["target"]["averageValue"])
        try:
            selector = _selector(source)
            with _explained(f"unable to get metric {name}: "):
                samples = await self._metrics.of_pods(name, scene.namespace, scene.selector, selector)
            proposal = replicas.by_average(scene.situation, samples, "", target)
        except NoProposal as error:
            return Unmeasured("FailedGetPodsMetric", str(error), f"failed to get pods metric value: {error}")
        said = {"metric": _identity(source), "current": {"averageValue": _quantity(proposal.usage)}}
        return Measured(proposal.replicas, f"pods metric {name}", {"type": "Pods", "pods": said})

    async def _object(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        source = metric["object"]
        name, target, described = source["metric"]["name"], source["target"], source["describedObject"]
        is_share = target["type"] == "AverageValue"
        prefix = f"failed to get {name} object metric: " if is_share else ""
        try:
            selector = _selector(source)
            place = f"{described['kind']} {scene.namespace}/{described['name']}"
            with _explained(f"unable to get metric {name}: ", f" on {place}"):
                usage = await self._metrics.of_object(name, scene.namespace, described, selector)
            proposal, current = _of_total(scene.situation, target, usage)
        except NoProposal as error:
            told = f"failed to get object metric value: {prefix}{error}"
            return Unmeasured("FailedGetObjectMetric", str(error), told)
        said = {"describedObject": dict(described), "metric": _identity(source), "current": current}
        shown = f"{described['kind']} metric {name}"
        if is_share:
            shown = f"external metric {name}({as_go_prints(source['metric'].get('selector'))})"
        return Measured(proposal.replicas, shown, {"type": "Object", "object": said})

    async def _external(self, metric: Json, scene: Scene) -> Measured | Unmeasured:
        source = metric["external"]
        name, target = source["metric"]["name"], source["target"]
        printed = as_go_prints(source["metric"].get("selector"))
        is_share = target.get("averageValue") is not None
        prefix = f"failed to get {name} external metric" if is_share else f"failed to get external metric {name}"
        try:
            selector = _selector(source)
            with _explained(f"unable to get external metric {scene.namespace}/{name}/{printed}: "):
                usage = await self._metrics.external(name, scene.namespace, selector)
            proposal, current = _of_total(scene.situation, target, usage)
        except NoProposal as error:
            told = f"failed to get {name} external metric value: {prefix}: {error}"
            return Unmeasured("FailedGetExternalMetric", str(error), told)
        said = {"metric": _identity(source), "current": current}
        return Measured(proposal.replicas, f"external metric {name}({printed})", {"type": "External", "external": said})


@contextmanager
def _explained(before: str, after: str = "") -> Iterator[None]:
    """Says around what is lacking what it was wanted for."""
    try:
        yield
    except NoProposal as error:
        raise NoProposal(f"{before}{error}{after}") from error


def _of_total(situation: Situation, target: Json, usage: int) -> tuple[Proposal, Object]:
    """One number for all pods: the proposal, and what the status says of it."""
    if target.get("averageValue") is not None:
        proposal = replicas.by_share(situation, usage, _milli(target["averageValue"]))
        return proposal, {"averageValue": _quantity(proposal.usage)}
    proposal = replicas.by_value(situation, usage, _milli(target["value"]))
    return proposal, {"value": _quantity(proposal.usage)}


def _selector(source: Json) -> Selector:
    """Of the metric's series; none selects all."""
    selector = source["metric"].get("selector")
    try:
        return EVERYTHING if selector is None else from_label_selector(selector)
    except SelectorError as error:
        raise NoProposal(str(error)) from error


def _identity(source: Json) -> Object:
    return {name: value for name, value in source["metric"].items() if value is not None}


def _resource_value(resource: str, proposal: Proposal) -> Object:
    average = str(of_milli_value(proposal.usage, BINARY_SI if resource == "memory" else DECIMAL_SI))
    if proposal.utilization is None:
        return {"averageValue": average}
    return {"averageUtilization": proposal.utilization, "averageValue": average}


def _share(proposal: Proposal) -> str:
    return "" if proposal.utilization is None else " utilization (percentage of request)"


def _quantity(usage: int) -> str:
    return str(of_milli_value(usage))


def _milli(quantity: str) -> int:
    return parse(quantity).milli_value()
