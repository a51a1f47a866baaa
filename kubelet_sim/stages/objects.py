"""Follows the Stage objects of the cluster: one key each, level-triggered. Their selectors choose what is played.

A Stage that cannot be understood is not played, and says so in its status and in an event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubelet_sim.stages.definition import INVALID, STAGES
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.model import Stage
from kubelet_sim.stages.reading import read
from kubelet_sim.stages.registry import Stages
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, generation_of, key_of, name_of, uid_of
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, Result

_REASON = "InvalidStage"


class StageReconciler:
    """Of several processes one, that `writes`, writes the statuses."""

    def __init__(self, api: Api, clock: Clock, stages: Stages, recorder: EventRecorder, writes: bool) -> None:
        self._api, self._clock, self._stages, self._recorder, self._writes = api, clock, stages, recorder, writes
        self._read: dict[tuple[str, int], Stage | str | None] = {}  # by uid and generation; why it is none
        self.known: Callable[[], Sequence[Object]] = tuple  # the Stages there are, while the kind is served

    async def reconcile(self, key: ObjectKey) -> Result:
        self.refresh()
        obj = next((obj for obj in self.known() if key_of(obj) == key), None)
        if obj is not None and self._writes:
            found = self._read[_version(obj)]
            await self._write_status(obj, found if isinstance(found, str) else "")
        return DONE

    def refresh(self) -> None:
        """Exactly those are played that are known and can be understood; what has not changed is not read again."""
        before = self._read
        self._read = {}
        for obj in self.known():
            version = _version(obj)
            self._read[version] = before[version] if version in before else _read(obj)
        self._stages.put(one for one in self._read.values() if isinstance(one, Stage))

    async def _write_status(self, obj: ReadOnlyObject, problem: str) -> None:
        """The condition Invalid, while there is something to say; others' conditions stay."""
        conditions = conditions_of(obj)
        current = get_condition(conditions, INVALID)
        if (current or {}).get("message", "") == problem:
            return
        others = [condition for condition in conditions if condition["type"] != INVALID]
        own = [self._condition(problem)] if problem else []
        patch = {"metadata": {"uid": uid_of(obj)}, "status": {"conditions": [*others, *own] or None}}
        try:
            await self._api.patch(STAGES, name_of(obj), patch, subresource="status")
        except NotFound:
            return
        if problem:
            await self._recorder.event(obj, "Warning", _REASON, problem)

    def _condition(self, problem: str) -> Object:
        now = format_time(self._clock.now())
        return {"type": INVALID, "status": "True", "reason": _REASON, "message": problem, "lastTransitionTime": now}


def _version(obj: ReadOnlyObject) -> tuple[str, int]:
    return uid_of(obj), generation_of(obj)


def _read(obj: ReadOnlyObject) -> Stage | str | None:
    try:
        return read(obj)
    except StageError as error:
        return str(error)
