"""ResourceSlices and the devices in them, read once for all pods that look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controllers.scheduler.dynamic_resources.capacity import Capacity
from controllers.scheduler.node_info import NodeInfo
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.node_affinity import RequiredNodeAffinity, node_selector
from kubeloop.apimachinery.quantity import Quantity, parse
from kubeloop.apimachinery.tolerations import Taint

Json = Mapping[str, Any]
Counters = Mapping[str, Mapping[str, Quantity]]  # by counter set and counter


class PoolId(NamedTuple):
    driver: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class Reach:
    """The nodes from which something can be reached."""

    node_name: str = ""
    is_everywhere: bool = False
    terms: Sequence[Json] = ()  # of a node selector, as the slice has it
    _selector: RequiredNodeAffinity | None = field(default=None, repr=False)

    @classmethod
    def of(cls, holder: Json) -> Reach:
        """Read from a slice's spec or a device."""
        selector = holder.get("nodeSelector")
        return cls(
            holder.get("nodeName") or "",
            bool(holder.get("allNodes")),
            (selector or {}).get("nodeSelectorTerms") or (),
            None if selector is None else node_selector(selector),
        )

    @property
    def is_told(self) -> bool:
        return bool(self.node_name or self.is_everywhere or self._selector is not None)

    def includes(self, node: NodeInfo) -> bool:
        if self.node_name:
            return node.name == self.node_name
        return self.is_everywhere or (self._selector is not None and self._selector.matches(node.name, node.labels))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Device:
    id: DeviceId
    reach: Reach  # its own, or that of its slice
    attributes: Mapping[str, Json]
    capacity: Mapping[str, Capacity]
    taints: Sequence[Taint]
    consumes: Counters
    is_shared: bool  # several claims may use it at once
    binds_to_node: bool
    binding_conditions: Sequence[str]
    binding_failure_conditions: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    name: str
    pool: PoolId
    generation: int
    slices_in_pool: int
    reach: Reach | None  # None: its devices say it one by one
    devices: Sequence[Device]
    counter_sets: Sequence[tuple[str, Mapping[str, Quantity]]]

    def is_reachable(self, node: NodeInfo) -> bool:
        """Counters count wherever the devices are that consume them."""
        if self.counter_sets:
            return True
        if self.reach is not None:
            return self.reach.includes(node)
        return any(device.reach.includes(node) for device in self.devices)


class Slices:
    """The slices as they are now; one that has not changed since is not read again."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[ReadOnlyObject, Slice]] = {}

    def read(self, objects: Sequence[ReadOnlyObject]) -> Sequence[Slice]:
        read: dict[str, tuple[ReadOnlyObject, Slice]] = {}
        for obj in objects:
            known = self._read.get(name_of(obj))
            read[name_of(obj)] = known if known is not None and known[0] is obj else (obj, slice_of(obj))
        self._read = read
        return [found for _, found in read.values()]


def slice_of(obj: ReadOnlyObject) -> Slice:
    spec = obj.get("spec") or {}
    pool = spec.get("pool") or {}
    id_ = PoolId(spec.get("driver", ""), pool.get("name", ""))
    reach = None if spec.get("perDeviceNodeSelection") else Reach.of(spec)
    return Slice(
        name_of(obj),
        id_,
        pool.get("generation", 0),
        pool.get("resourceSliceCount", 0),
        reach,
        [_device_of(device, id_, reach) for device in spec.get("devices") or ()],
        [(one.get("name", ""), _amounts(one)) for one in spec.get("sharedCounters") or ()],
    )


def _device_of(device: Json, pool: PoolId, reach: Reach | None) -> Device:
    return Device(
        DeviceId(*pool, device.get("name", "")),
        Reach.of(device) if reach is None else reach,
        device.get("attributes") or {},
        {name: Capacity.of(one) for name, one in (device.get("capacity") or {}).items()},
        device.get("taints") or (),
        {one.get("counterSet", ""): _amounts(one) for one in device.get("consumesCounters") or ()},
        bool(device.get("allowMultipleAllocations")),
        bool(device.get("bindsToNode")),
        device.get("bindingConditions") or (),
        device.get("bindingFailureConditions") or (),
    )


def _amounts(holder: Json) -> Mapping[str, Quantity]:
    return {name: parse(str(counter.get("value", "0"))) for name, counter in (holder.get("counters") or {}).items()}
