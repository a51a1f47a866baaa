"""Plays the stages of one kind: what a stage says comes next is done when its delay is over.

Level-triggered: which stages match is looked at when the object or the stages have changed. The one that was drawn is
kept while the same match and ask for the same; what it does changes the object, and its new state draws the next. After
a restart of this process a delay begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.model import ResourceRef, Stage, Step
from kubelet_sim.stages.registry import Stages, StagesOfKind, draw
from kubelet_sim.stages.steps import Steps
from kubelet_sim.stages.template import Functions
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound, TooManyRequests
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, is_being_deleted, key_of, resource_version_of, uid_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.times import moment_after
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

log = structlog.get_logger(__name__)

Keep = Callable[[Any], None]

_AT_ONCE_SECONDS = 0.001
# Between two entries of an object into one stage without a delay: stages that flip it to and fro would never rest.
LEAST_SECONDS_BETWEEN = 1.0


@dataclass(slots=True)
class _Drawn:
    """What is next for an object, as it was at `version`: nothing where `stage` is None. `step`: the next to take.

    `entered`: when it was last in each stage, by name.
    """

    uid: str
    version: str
    of: StagesOfKind
    outlook: Hashable
    stage: Stage | None
    due: datetime
    step: int = 0
    is_over: bool = False
    entered: dict[str, datetime] = field(default_factory=dict)

    def is_under_way(self) -> bool:
        return self.step > 0 and not self.is_over


class StagePlayer:
    """`removes`: an object that is being deleted and that no stage matches is removed, as a kubelet does with pods."""

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        stages: Stages,
        steps: Steps,
        ref: ResourceRef,
        resource: Resource,
        *,
        removes: bool = False,
    ) -> None:
        self._clock, self._rng, self._stages, self._steps = clock, rng, stages, steps
        self._ref, self._resource, self._removes = ref, resource, removes
        self._drawn: dict[ObjectKey, _Drawn] = {}

    def takes(self, obj: ReadOnlyObject) -> bool:
        """Whether the object is given over to stages; in the midst of one it stays so."""
        if self._stages.of(self._ref).take(obj):
            return True
        drawn = self._drawn.get(key_of(obj))
        return drawn is not None and drawn.uid == uid_of(obj) and drawn.is_under_way()

    def forget(self, key: ObjectKey) -> None:
        self._drawn.pop(key, None)

    async def play(
        self, obj: ReadOnlyObject, recorder: EventRecorder, functions: Callable[[], Functions], keep: Keep
    ) -> Result:
        """The next step of an object that is given over.

        `keep` is given what the server answers: the object as it is from then on. Raises ApiError where another try may
        go better.
        """
        drawn = self._outlook(key_of(obj), obj)
        if drawn.is_over:
            return DONE
        if drawn.stage is None:
            return await self._without_stage(drawn, obj)
        now = self._clock.now()
        if now < drawn.due:
            return RequeueAfter((drawn.due - now).total_seconds())
        return await self._enter(drawn, drawn.stage, obj, recorder, functions(), keep)

    def _outlook(self, key: ObjectKey, obj: ReadOnlyObject) -> _Drawn:
        of, version, uid = self._stages.of(self._ref), resource_version_of(obj), uid_of(obj)
        known = self._drawn.get(key)
        if known is not None and known.uid != uid:
            known = None
        if known is not None and (known.is_under_way() or (known.version == version and known.of is of)):
            return known
        matching = of.matching(obj)
        outlook = (matching, tuple([repr(one.value(obj)) for stage in matching for one in stage.asked]))
        is_same = known is not None and known.outlook == outlook and not (known.is_over and known.version != version)
        if known is not None and is_same:
            known.version, known.of = version, of
            return known
        stage = draw(matching, obj, self._rng) if matching else None
        entered = {} if known is None else known.entered
        due = self._due(stage, obj, entered) if stage else self._clock.now()
        drawn = self._drawn[key] = _Drawn(uid, version, of, outlook, stage, due, entered=entered)
        return drawn

    def _due(self, stage: Stage, obj: ReadOnlyObject, entered: Mapping[str, datetime]) -> datetime:
        now = self._clock.now()
        seconds = stage.delay.seconds(obj, now, self._rng.random)
        last = entered.get(stage.name)
        if seconds > 0 or last is None:
            return moment_after(now, seconds)
        return max(now, moment_after(last, LEAST_SECONDS_BETWEEN))

    async def _without_stage(self, drawn: _Drawn, obj: ReadOnlyObject) -> Result:
        if self._removes and is_being_deleted(obj):
            await self._steps.delete(self._resource, obj)
            drawn.is_over = True
        return DONE

    async def _enter(
        self,
        drawn: _Drawn,
        stage: Stage,
        obj: ReadOnlyObject,
        recorder: EventRecorder,
        functions: Functions,
        keep: Keep,
    ) -> Result:
        """All its steps; after a failure that passes, those that are left. Templates see the object as it was."""
        newest: ReadOnlyObject | None = obj
        drawn.entered[stage.name] = self._clock.now()
        try:
            while drawn.step < len(stage.steps):
                step = stage.steps[drawn.step]
                if newest is None:  # deleted: what is left is to be told
                    step = Step(event=step.event)
                answer = await self._steps.take(step, self._resource, obj, functions, recorder)
                newest = None if newest is None or step.is_deletion else answer or newest
                drawn.step += 1
                if answer is not None:
                    keep(answer)
        except (NotFound, Conflict):
            newest = None  # gone, or another one: the informer will say so
        except (StageError, ApiError) as error:
            if isinstance(error, ApiError) and _passes(error):
                raise
            log.warning("a stage has no effect", stage=stage.name, object=str(key_of(obj)), error=str(error))
            await recorder.event(obj, "Warning", "InvalidStage", f"stage {stage.name}: {error}")
        drawn.is_over = True
        is_changed = newest is not None and resource_version_of(newest) != resource_version_of(obj)
        return RequeueAfter(_AT_ONCE_SECONDS) if stage.is_immediate and is_changed else DONE


def _passes(error: ApiError) -> bool:
    """Whether another try may go better: what the server could not do, and not what it refused."""
    return error.code >= 500 or error.code == TooManyRequests.code
