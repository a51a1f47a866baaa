"""One look at an autoscaler: read the scale of its target and its metrics, decide, write the scale, write the status.

Each is looked at every 15 seconds (or as the flags say), failed or not: load changes without telling anybody. What
fails is said in the status and in events. pkg/controller/podautoscaler/horizontal.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

import structlog

from controllers.horizontal_pod_autoscaler import plan
from controllers.horizontal_pod_autoscaler.answers import in_words
from controllers.horizontal_pod_autoscaler.model import USUAL, AutoscalerSpec, Settings
from controllers.horizontal_pod_autoscaler.pace import Memory
from controllers.horizontal_pod_autoscaler.plan import ABLE, ACTIVE, Decision, Said, Summary, Unmeasured
from controllers.horizontal_pod_autoscaler.replicas import Situation
from controllers.horizontal_pod_autoscaler.selecting import Selecting
from controllers.horizontal_pod_autoscaler.sources import Scene, Sources
from controllers.horizontal_pod_autoscaler.target import NoTarget, Scales
from kubeloop.apimachinery import selector_text
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.resource import HORIZONTAL_POD_AUTOSCALERS, Resource
from kubeloop.apimachinery.selectors import Selector, SelectorError
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.status import StatusWriter

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Look:
    """What is known in one look, and what will be said of it."""

    autoscaler: Object
    spec: AutoscalerSpec
    memory: Memory
    now: datetime
    resource: Resource
    scale: ReadOnlyObject
    said: list[Said] = field(default_factory=list)
    statuses: Sequence[Object] | None = None

    @property
    def current(self) -> int:
        return int((self.scale.get("spec") or {}).get("replicas") or 0)


class _Failed(Exception):
    """The look ends here; the message is told in an event."""


class AutoscalerReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        autoscalers: Informer,
        pods: Informer,
        scales: Scales,
        sources: Sources,
        recorder: EventRecorder,
        settings: Settings = USUAL,
    ) -> None:
        self._settings = settings
        self._clock, self._autoscalers, self._pods = clock, autoscalers, pods
        self._scales, self._sources, self._recorder = scales, sources, recorder
        self._own_writes = OwnWrites()
        self._statuses = StatusWriter(api, HORIZONTAL_POD_AUTOSCALERS, clock, self._own_writes)
        self._memories: dict[ObjectKey, Memory] = {}  # of the autoscalers there are
        self._selecting = Selecting()

    async def reconcile(self, key: ObjectKey) -> Result:
        cached = self._autoscalers.get(key)
        if cached is None:
            self._forget(key)
            return DONE
        try:
            await self._look_at(self._own_writes.latest(cached))
        except ApiError as error:
            log.warning("autoscaler not served", autoscaler=str(key), error=error.message)
        return RequeueAfter(self._settings.sync_seconds)

    def _forget(self, key: ObjectKey) -> None:
        self._memories.pop(key, None)
        self._selecting.forget(key)
        self._own_writes.forget(key)

    async def _look_at(self, autoscaler: Object) -> None:
        look = await self._begin(autoscaler)
        if look is None:
            return
        try:
            decision = plan.within_limits(look.spec, look.current) or await self._by_metrics(look)
        except _Failed as failure:
            await self._write_status(look, None)
            await self._recorder.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", str(failure))
            return
        look.said += decision.conditions
        if decision.replicas == look.current:
            await self._write_status(look, decision.replicas)
        else:
            await self._rescale(look, decision)

    async def _begin(self, autoscaler: Object) -> _Look | None:
        """None, and a status that says why, where there is nothing to scale."""
        spec, now = AutoscalerSpec.of(autoscaler, self._settings), self._clock.now()
        try:
            resource, scale = await self._scales.find(spec.key.namespace, spec.target)
        except NoTarget as error:
            await self._recorder.event(autoscaler, "Warning", "FailedGetScale", str(error))
            message = f"the HPA controller was unable to get the target's current scale: {error}"
            stored = autoscaler.get("status") or {}
            said = [Said(ABLE, False, "FailedGetScale", message)]
            await self._put_status(autoscaler, {**stored, "conditions": plan.with_conditions(autoscaler, said, now)})
            return None
        memory = self._memories.setdefault(spec.key, Memory())
        look = _Look(autoscaler, spec, memory, now, resource, scale)
        memory.begin(look.current, now)
        message = "the HPA controller was able to get the target's current scale"
        look.said.append(Said(ABLE, True, "SucceededGetScale", message))
        return look

    async def _by_metrics(self, look: _Look) -> Decision:
        selector = await self._selector(look)
        summary = await self._measure(look, selector)
        look.statuses = summary.statuses
        look.said.append(summary.condition)
        if summary.highest is None:
            raise _Failed(summary.error)
        if summary.error:
            log.warning("some metrics are lacking", autoscaler=str(look.spec.key), error=summary.error)
        return plan.by_metrics(look.spec, look.memory, look.current, summary.highest, look.now)

    async def _selector(self, look: _Look) -> Selector:
        """Of the target's pods, which no other autoscaler may select."""
        text = (look.scale.get("status") or {}).get("selector") or ""
        if not text:
            why = "selector is required"
            missing = "the HPA target's scale is missing a selector"
            await self._refuse_selector(look, "SelectorRequired", why, "InvalidSelector", missing)
        try:
            selector = selector_text.parse(text)
        except SelectorError as error:
            why = f"couldn't convert selector into a corresponding internal selector object: {error}"
            await self._refuse_selector(look, "InvalidSelector", why, "InvalidSelector", why)
        namespace = look.spec.key.namespace
        self._selecting.put(look.spec.key, selector)
        others = self._selecting.over(namespace, self._pods.list(namespace, selector))
        if len(others) > 1:
            names = " ".join(map(str, others))
            why = f"pods by selector {text} are controlled by multiple HPAs: [{names}]"
            await self._refuse_selector(look, "AmbiguousSelector", why, "AmbiguousSelector", why)
        return selector

    async def _refuse_selector(self, look: _Look, event: str, why: str, reason: str, message: str) -> NoReturn:
        await self._recorder.event(look.autoscaler, "Warning", event, why)
        look.said.append(Said(ACTIVE, False, reason, message))
        raise _Failed(why)

    async def _measure(self, look: _Look, selector: Selector) -> Summary:
        namespace, status = look.spec.key.namespace, look.scale.get("status") or {}
        pods = self._pods.list(namespace, selector)
        present = status.get("replicas") or 0
        situation = Situation(pods, look.current, present, look.spec.tolerances, look.now, self._settings)
        scene = Scene(namespace, selector, situation)
        results = [await self._sources.measure(metric, scene) for metric in look.spec.metrics]
        for one in results:
            if isinstance(one, Unmeasured):
                await self._recorder.event(look.autoscaler, "Warning", one.reason, one.why)
        return plan.summarize(results, look.current)

    async def _rescale(self, look: _Look, decision: Decision) -> None:
        size = f"New size: {decision.replicas}; reason: {decision.reason}"
        try:
            await self._scales.write(look.resource, look.scale, decision.replicas)
        except ConnectionFailed:
            raise
        except ApiError as error:
            words = in_words(error)
            await self._recorder.event(look.autoscaler, "Warning", "FailedRescale", f"{size}; error: {words}")
            message = f"the HPA controller was unable to update the target scale: {words}"
            look.said.append(Said(ABLE, False, "FailedUpdateScale", message))
            await self._write_status(look, None)
            return
        message = f"the HPA controller was able to update the target scale to {decision.replicas}"
        look.said.append(Said(ABLE, True, "SucceededRescale", message))
        await self._recorder.event(look.autoscaler, "Normal", "SuccessfulRescale", size)
        look.memory.rescaled(look.spec.behavior, look.current, decision.replicas, look.now)
        log.info(
            "rescaled",
            autoscaler=str(look.spec.key),
            replicas_from=look.current,
            replicas_to=decision.replicas,
            reason=decision.reason,
        )
        await self._write_status(look, decision.replicas, lastScaleTime=format_time(look.now))

    async def _write_status(self, look: _Look, desired: int | None, **more: str) -> None:
        status = plan.status(look.autoscaler, look.current, desired, look.statuses)
        conditions = plan.with_conditions(look.autoscaler, look.said, look.now)
        await self._put_status(look.autoscaler, {**status, **more, "conditions": conditions})

    async def _put_status(self, autoscaler: Object, status: Object) -> None:
        if not plan.differs(autoscaler, status):
            return
        try:
            await self._statuses.replace(autoscaler, status)
        except ConnectionFailed:
            raise
        except ApiError as error:
            await self._recorder.event(autoscaler, "Warning", "FailedUpdateStatus", error.message)
            raise
