"""Plays the stages of pods: what a stage says comes next is done when its delay is over.

Level-triggered: the stage that was drawn for a pod is kept while it matches; what it does changes the pod, and its new
state draws the next. After a restart of this process a delay begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from kubelet_sim.nodes import Recorders
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.model import Stage, choose
from kubelet_sim.stages.template import Functions
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, key_of, metadata, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import format_time, moment_after
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.runtime.result import DONE, RequeueAfter, Result

log = structlog.get_logger(__name__)

Keep = Callable[[Object], None]


@dataclass(frozen=True, slots=True)
class Drawn:
    uid: str
    stage: Stage
    due: datetime


class StagePlayer:
    """`version`: what `Version` says in templates."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        recorders: Recorders,
        stages: Sequence[Stage],
        version: str,
    ) -> None:
        self._api, self._clock, self._rng, self._recorders = api, clock, rng, recorders
        self._stages, self._version = stages, version
        self._drawn: dict[ObjectKey, Drawn] = {}

    def takes(self, pod: ReadOnlyObject) -> bool:
        """Whether the pod is given over to stages."""
        return any(stage.wants(pod) for stage in self._stages)

    def forget(self, key: ObjectKey) -> None:
        self._drawn.pop(key, None)

    async def play(self, pod: ReadOnlyObject, node_ip: str, pod_ip: Callable[[], str], keep: Keep) -> Result:
        """The next step of a pod that is given over. One that is to go and that no stage lets go is removed.

        `keep` is given what the server answers: the pod as it is from then on.
        """
        key, now = key_of(pod), self._clock.now()
        drawn = self._drawn.get(key)
        if drawn is None or drawn.uid != uid_of(pod) or not drawn.stage.matches(pod):
            stage = choose(self._stages, pod, self._rng)
            if stage is None:
                self._drawn.pop(key, None)
                return await self._delete(pod) if is_being_deleted(pod) else DONE
            drawn = Drawn(uid_of(pod), stage, moment_after(now, stage.delay_seconds(pod, now, self._rng)))
            self._drawn[key] = drawn
        if now < drawn.due:
            return RequeueAfter((drawn.due - now).total_seconds())
        del self._drawn[key]
        with suppress(NotFound):
            await self._enter(drawn.stage, pod, self._functions(pod, node_ip, pod_ip), keep)
        return DONE

    async def _enter(self, stage: Stage, pod: ReadOnlyObject, functions: Functions, keep: Keep) -> None:
        key, recorder = key_of(pod), self._recorders(pod["spec"]["nodeName"])
        if stage.event:
            message = stage.event.get("message", "")
            await recorder.event(pod, stage.event.get("type", "Normal"), stage.event.get("reason", ""), message)
        if stage.finalizers:
            kept = {"metadata": {"uid": uid_of(pod), "finalizers": _finalizers(stage.finalizers, pod)}}
            keep(await self._api.patch(PODS, key.name, kept, key.namespace))
        if stage.deletes:
            await self._delete(pod)
        elif stage.status is not None:
            try:
                patch = {"metadata": {"uid": uid_of(pod)}, "status": _status(stage.status.render(pod, functions))}
                keep(await self._write(key, patch))
            except NotFound:
                raise
            except (StageError, ApiError) as error:
                log.warning("a stage has no effect", stage=stage.name, pod=str(key), error=str(error))
                await recorder.event(pod, "Warning", "InvalidStage", f"stage {stage.name}: {error}")

    async def _write(self, key: ObjectKey, patch: Object) -> Object:
        return await self._api.patch(PODS, key.name, patch, key.namespace, patch_type=STRATEGIC, subresource="status")

    async def _delete(self, pod: ReadOnlyObject) -> Result:
        key = key_of(pod)
        with suppress(NotFound):
            await self._api.delete(PODS, key.name, key.namespace, grace_period_seconds=0, uid=uid_of(pod))
        return DONE

    def _functions(self, pod: ReadOnlyObject, node_ip: str, pod_ip: Callable[[], str]) -> Functions:
        return {
            "Now": lambda: format_time(self._clock.now()),
            "NodeIP": lambda: node_ip,
            "NodeIPWith": lambda *_: node_ip,
            "PodIP": pod_ip,
            "PodIPWith": lambda *_: pod_ip(),
            "NodeName": lambda: pod["spec"]["nodeName"],
            "Version": lambda: self._version,
        }


def _status(text: str) -> Object:
    try:
        status = parse_yaml(text.encode())
    except YamlSyntaxError as error:
        raise StageError(f"the status is no YAML: {error}") from error
    if not isinstance(status, dict):
        raise StageError("the status is no mapping")
    return {field: value for field, value in status.items() if value is not None}


def _finalizers(change: Mapping[str, Any], pod: ReadOnlyObject) -> list[str]:
    if change.get("empty"):
        return []
    removed = {one["value"] for one in change.get("remove") or ()}
    kept = [one for one in metadata(pod).get("finalizers") or () if one not in removed]
    added = (one["value"] for one in change.get("add") or ())
    return [*kept, *(one for one in added if one not in kept)]
