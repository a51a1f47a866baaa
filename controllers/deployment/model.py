"""What the Deployment's planners read: plain values taken out of the objects at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubeloop.apimachinery.int_or_percent import scaled
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, metadata, name_of, uid_of

# "Never" where a number of seconds or of revisions is asked for: math.MaxInt32.
UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Rollout:
    """A Deployment with its numbers resolved. `status` and `annotations` are as stored."""

    obj: ReadOnlyObject
    replicas: int
    is_rolling: bool
    max_surge: int
    max_unavailable: int

    @classmethod
    def of(cls, deployment: ReadOnlyObject) -> Rollout:
        spec = deployment["spec"]
        replicas = _replicas(spec)
        strategy = spec.get("strategy") or {}
        is_rolling = strategy.get("type") == "RollingUpdate"
        surge, unavailable = _fenceposts(strategy.get("rollingUpdate") or {}, replicas) if is_rolling else (0, 0)
        return cls(deployment, replicas, is_rolling, surge, unavailable if replicas else 0)

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.obj["spec"]

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def max_replicas(self) -> int:
        """The most pods there may be during a rollout."""
        return self.replicas + self.max_surge

    @property
    def min_available(self) -> int:
        return self.replicas - self.max_unavailable

    @property
    def is_paused(self) -> bool:
        return bool(self.spec.get("paused"))

    @property
    def min_ready_seconds(self) -> int:
        return self.spec.get("minReadySeconds") or 0

    @property
    def progress_deadline_seconds(self) -> int | None:
        return _limit(self.spec.get("progressDeadlineSeconds"))

    @property
    def revision_history_limit(self) -> int | None:
        return _limit(self.spec.get("revisionHistoryLimit"))


@dataclass(frozen=True, slots=True)
class SetState:
    """A ReplicaSet, with `replicas` being what is planned for it. One about to be created has no uid yet."""

    obj: ReadOnlyObject
    replicas: int

    @classmethod
    def of(cls, replica_set: ReadOnlyObject) -> SetState:
        return cls(replica_set, _replicas(replica_set["spec"]))

    def scaled_to(self, replicas: int) -> SetState:
        return replace(self, replicas=replicas)

    @property
    def name(self) -> str:
        return name_of(self.obj)

    @property
    def uid(self) -> str:
        return uid_of(self.obj)

    @property
    def age(self) -> tuple[str, str]:
        """Sorts old before new; a name breaks the tie of one second. One not yet created is the newest."""
        return metadata(self.obj).get("creationTimestamp") or "9", self.name

    @property
    def annotations(self) -> Mapping[str, str]:
        return annotations_of(self.obj)

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def available(self) -> int:
        return self.status.get("availableReplicas") or 0

    @property
    def current(self) -> int:
        """Pods there are, as its controller last counted."""
        return self.status.get("replicas") or 0


@dataclass(frozen=True, slots=True)
class Scale:
    """One step: this ReplicaSet gets this many replicas.

    `refresh`: write the desired and max annotations anew even where the number stays (a scaled Deployment's size is
    told apart from a rollout's by them).
    """

    name: str
    replicas: int
    refresh: bool = False


def total(sets: Sequence[SetState]) -> int:
    return sum(replica_set.replicas for replica_set in sets)


def active(sets: Sequence[SetState]) -> list[SetState]:
    """Those that have, or ought to have, pods."""
    return [replica_set for replica_set in sets if replica_set.replicas > 0]


def copy_with(obj: ReadOnlyObject, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A copy of an object with other annotations and other fields of its spec."""
    changed = {**obj, "spec": {**obj["spec"], **spec}}
    if annotations is not None:
        changed["metadata"] = {**obj["metadata"], "annotations": dict(annotations)}
    return changed


def _replicas(spec: Mapping[str, Any]) -> int:
    replicas = spec.get("replicas")
    return 1 if replicas is None else int(replicas)


def _limit(value: int | None) -> int | None:
    return None if value is None or value == UNLIMITED else value


def _fenceposts(rolling_update: Mapping[str, Any], replicas: int) -> tuple[int, int]:
    """Surge (rounded up) and unavailable (rounded down, at most all); both 0 would stand still for ever."""
    surge = scaled(rolling_update.get("maxSurge") or 0, replicas, round_up=True)
    unavailable = scaled(rolling_update.get("maxUnavailable") or 0, replicas, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)
