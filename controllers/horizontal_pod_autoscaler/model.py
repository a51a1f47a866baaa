"""What the planners read of a HorizontalPodAutoscaler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of
from kubeloop.apimachinery.quantity import parse

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """kube-controller-manager's flags --horizontal-pod-autoscaler-…, with its defaults."""

    sync_seconds: float = 15.0
    downscale_window_seconds: float = 300.0  # -downscale-stabilization
    tolerance: float = 0.1
    cpu_initialization_seconds: float = 300.0  # how long a pod may be busy with its start
    initial_readiness_seconds: float = 30.0  # how long a pod that was never ready may take for it
    workers: int = 5  # --concurrent-horizontal-pod-autoscaler-syncs


USUAL = Settings()


class Policy(NamedTuple):
    type: str
    value: int
    period_seconds: int


@dataclass(frozen=True, slots=True)
class Rules:
    """How fast to go in one direction."""

    window_seconds: float
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

    down: float = USUAL.tolerance
    up: float = USUAL.tolerance

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
    downscale_window_seconds: float  # where no behavior says another

    @classmethod
    def of(cls, autoscaler: ReadOnlyObject, settings: Settings = USUAL) -> AutoscalerSpec:
        spec = autoscaler["spec"]
        behavior = spec.get("behavior")
        return cls(
            key=key_of(autoscaler),
            target=spec["scaleTargetRef"],
            minimum=spec.get("minReplicas", 1),
            maximum=spec["maxReplicas"],
            metrics=spec.get("metrics") or (),
            behavior=_behavior(behavior, settings) if behavior is not None else None,
            tolerances=_tolerances(behavior or {}, settings.tolerance),
            downscale_window_seconds=settings.downscale_window_seconds,
        )


def _behavior(behavior: Json, settings: Settings) -> Behavior:
    """The server has filled in what was left out, but for the window of scaling down."""
    down = _rules(behavior["scaleDown"], settings.downscale_window_seconds)
    return Behavior(_rules(behavior["scaleUp"], 0), down)


def _rules(rules: Json, default_window: float) -> Rules:
    window = rules.get("stabilizationWindowSeconds")
    policies = tuple(Policy(one["type"], one["value"], one["periodSeconds"]) for one in rules.get("policies") or ())
    return Rules(default_window if window is None else window, rules.get("selectPolicy") or "Max", policies)


def _tolerances(behavior: Json, usual: float) -> Tolerances:
    down = (behavior.get("scaleDown") or {}).get("tolerance")
    up = (behavior.get("scaleUp") or {}).get("tolerance")
    return Tolerances(
        usual if down is None else parse(down).approximate(),
        usual if up is None else parse(up).approximate(),
    )
