"""What the StatefulSet's planners read: plain values taken out of the object at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeloop.apimachinery.int_or_percent import scaled
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of

RETAIN, DELETE = "Retain", "Delete"


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A StatefulSet with its numbers resolved.

    `partition` and `max_unavailable` are None where the object does not say: then fewer pods than currentReplicas are
    old, and pods are replaced one by one from the top (otherwise any that are within the limit).
    """

    obj: ReadOnlyObject
    replicas: int
    start: int
    is_ordered: bool
    is_rolling: bool
    partition: int | None
    max_unavailable: int | None
    min_ready_seconds: int
    deletes_when_scaled: bool
    deletes_with_set: bool

    @classmethod
    def of(cls, stateful_set: ReadOnlyObject) -> SetSpec:
        spec = stateful_set["spec"]
        replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
        strategy = spec.get("updateStrategy") or {}
        rolling = strategy.get("rollingUpdate")
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        return cls(
            stateful_set,
            replicas,
            (spec.get("ordinals") or {}).get("start") or 0,
            spec.get("podManagementPolicy") != "Parallel",
            strategy.get("type") == "RollingUpdate",
            None if rolling is None else rolling.get("partition") or 0,
            _max_unavailable(rolling or {}, replicas),
            spec.get("minReadySeconds") or 0,
            retention.get("whenScaled") == DELETE,
            retention.get("whenDeleted") == DELETE,
        )

    @property
    def name(self) -> str:
        return name_of(self.obj)

    @property
    def namespace(self) -> str:
        return namespace_of(self.obj)

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def claim_templates(self) -> Sequence[ReadOnlyObject]:
        return self.obj["spec"].get("volumeClaimTemplates") or ()

    @property
    def ordinals(self) -> range:
        return range(self.start, self.start + self.replicas)


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revision that the pods had before the template was changed, and that of the present template."""

    current_name: str
    current_template: Object
    update_name: str
    update_template: Object
    collision_count: int = 0


def _max_unavailable(rolling: Mapping[str, Any], replicas: int) -> int | None:
    """Rounded down, but at least one."""
    value = rolling.get("maxUnavailable")
    return None if value is None else max(scaled(value, replicas, round_up=False), 1)
