"""Which stages there are: those that came with the start, and those that the cluster has now."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from kubelet_sim.stages.model import ResourceRef, Stage
from kubeloop.apimachinery.meta import ReadOnlyObject


class StagesOfKind:
    """The stages of one kind, as they are at one time."""

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        self._stages = tuple(stages)
        # One that asks for no labels and annotations takes every object.
        self._takes_all = any(not stage.selector.asks_for_marks for stage in stages)

    def __bool__(self) -> bool:
        return bool(self._stages)

    def take(self, obj: ReadOnlyObject) -> bool:
        """Whether the object is given over to stages."""
        return self._takes_all or any(stage.selector.wants(obj) for stage in self._stages)

    def matching(self, obj: ReadOnlyObject) -> tuple[Stage, ...]:
        return tuple([stage for stage in self._stages if stage.selector.matches(obj)])

    def same(self, other: StagesOfKind) -> bool:
        return self._stages == other._stages


def draw(matching: Sequence[Stage], obj: ReadOnlyObject, rng: random.Random) -> Stage:
    """One of those that match, by weight; those without one count only where none has any.

    Semantics: kwok's pkg/utils/lifecycle/lifecycle.go.
    """
    if len(matching) == 1:
        return matching[0]
    weights = {stage: weight for stage in matching if (weight := stage.weight.of(obj)) is not None}
    if not any(weight > 0 for weight in weights.values()):
        return rng.choice(list(weights) or list(matching))
    return rng.choices(list(weights), [max(weight, 0) for weight in weights.values()])[0]


Listener = Callable[[], None]
_NONE = StagesOfKind()


class Stages:
    """`fixed` are always there. Whoever plays a kind is told when its stages change, by `on_change`."""

    def __init__(self, fixed: Iterable[Stage] = ()) -> None:
        self._fixed = tuple(fixed)
        self._listeners: dict[ResourceRef, Listener] = {}
        self._otherwise: Listener | None = None
        self._by_kind: Mapping[ResourceRef, StagesOfKind] = _by_kind(self._fixed)

    def of(self, ref: ResourceRef) -> StagesOfKind:
        return self._by_kind.get(ref, _NONE)

    def kinds(self) -> Sequence[ResourceRef]:
        return tuple(self._by_kind)

    def on_change(self, ref: ResourceRef, listener: Listener) -> None:
        self._listeners[ref] = listener

    def on_change_of_others(self, listener: Listener) -> None:
        """Of kinds that nobody asked for by name."""
        self._otherwise = listener

    def put(self, of_cluster: Iterable[Stage]) -> None:
        """These are what the cluster has from now on."""
        before, after = self._by_kind, _by_kind([*self._fixed, *of_cluster])
        self._by_kind = {
            ref: before[ref] if ref in before and before[ref].same(of) else of for ref, of in after.items()
        }
        for ref in {*before, *after}:
            if before.get(ref) is not self._by_kind.get(ref):
                listener = self._listeners.get(ref, self._otherwise)
                if listener is not None:
                    listener()


def _by_kind(stages: Iterable[Stage]) -> dict[ResourceRef, StagesOfKind]:
    lists: dict[ResourceRef, list[Stage]] = {}
    for stage in stages:
        lists.setdefault(stage.ref, []).append(stage)
    return {ref: StagesOfKind(of_kind) for ref, of_kind in lists.items()}
