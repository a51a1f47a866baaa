"""What the planners read of a HorizontalPodAutoscaler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of
from kubeloop.apimachinery.quantity import parse

Json = Mapping[str, Any]

# kube-controller-manager's --horizontal-pod-autoscaler-downscale-stabilization and -tolerance.
DOWNSCALE_WINDOW_SECONDS = 300
TOLERANCE = 0.1


class Policy(NamedTuple):
    type: str
    value: int
    period_seconds: int


@dataclass(frozen=True, slots=True)
class Rules:
    """How fast to go in one direction."""

    window_seconds: int
    select: str
    policies: tuple[Policy, ...]

    @property
    def longest_period_seconds(self) -> int:
        return max((policy.period_seconds for policy in self.policies), default=0)


@dataclass(frozen=True, slots=True)
class Behavior:
    up: Rules
    down: Rules


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far usage may be from its target, as a share of it, before anything is done."""

    down: float = TOLERANCE
    up: float = TOLERANCE

    def cover(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class AutoscalerSpec:
    key: ObjectKey
    target: Json
    minimum: int
    maximum: int
    metrics: Sequence[Json]
    behavior: Behavior | None
    tolerances: Tolerances

    @classmethod
    def of(cls, autoscaler: ReadOnlyObject) -> AutoscalerSpec:
        spec = autoscaler["spec"]
        behavior = spec.get("behavior")
        return cls(
            key=key_of(autoscaler),
            target=spec["scaleTargetRef"],
            minimum=spec.get("minReplicas", 1),
            maximum=spec["maxReplicas"],
            metrics=spec.get("metrics") or (),
            behavior=_behavior(behavior) if behavior is not None else None,
            tolerances=_tolerances(behavior or {}),
        )


def _behavior(behavior: Json) -> Behavior:
    """The server has filled in what was left out, but for the window of scaling down."""
    return Behavior(_rules(behavior["scaleUp"], 0), _rules(behavior["scaleDown"], DOWNSCALE_WINDOW_SECONDS))


def _rules(rules: Json, default_window: int) -> Rules:
    window = rules.get("stabilizationWindowSeconds")
    policies = tuple(Policy(one["type"], one["value"], one["periodSeconds"]) for one in rules.get("policies") or ())
    return Rules(default_window if window is None else window, rules.get("selectPolicy") or "Max", policies)


def _tolerances(behavior: Json) -> Tolerances:
    down = (behavior.get("scaleDown") or {}).get("tolerance")
    up = (behavior.get("scaleUp") or {}).get("tolerance")
    return Tolerances(
        TOLERANCE if down is None else parse(down).approximate(),
        TOLERANCE if up is None else parse(up).approximate(),
    )
