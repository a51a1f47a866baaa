"""Pools as a node sees them: their newest generation, if all of its slices are there.

Slices of a pool say how many there are. While a driver replaces them, none of the pool's devices is given away; a pool
that contradicts itself is never used. Facts: structured/internal/incubating/pools_incubating.go (v1.36).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from controllers.scheduler.dynamic_resources.devices import Device, PoolId, Slice
from controllers.scheduler.node_info import NodeInfo
from kubeloop.apimachinery.quantity import Quantity

CounterSets = Mapping[str, Mapping[str, Quantity]]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """`devices` are those of slices that the node reaches; `others` only count for what they consume."""

    id: PoolId
    is_incomplete: bool = False
    invalid_because: str = ""
    devices: Sequence[Device] = ()
    others: Sequence[Device] = ()
    counter_sets: CounterSets = field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.invalid_because

    @property
    def has_binding_conditions(self) -> bool:
        return any(device.binding_conditions for device in self.devices)


class Published:
    """All slices there are, by who can use them."""

    def __init__(self, slices: Iterable[Slice]) -> None:
        self._by_pool: dict[PoolId, list[Slice]] = defaultdict(list)
        self._local: dict[str, list[Slice]] = defaultdict(list)
        self._shared: list[Slice] = []
        for one in slices:
            self._by_pool[one.pool].append(one)
            if one.reach is not None and one.reach.node_name and not one.counter_sets:
                self._local[one.reach.node_name].append(one)
            elif one.counter_sets or one.reach is None or one.reach.is_told:
                self._shared.append(one)

    def pools(self, node: NodeInfo) -> list[Pool]:
        """In the order in which devices are tried: by name, and what has to be made ready first comes last."""
        newest: dict[PoolId, list[Slice]] = {}
        for one in (*self._local.get(node.name, ()), *(one for one in self._shared if one.is_reachable(node))):
            known = newest.get(one.pool)
            if known is None or one.generation > known[0].generation:
                newest[one.pool] = [one]
            elif one.generation == known[0].generation:
                known.append(one)
        found = [self._pool(id_, slices) for id_, slices in newest.items()]
        pools = [pool for pool in found if pool is not None]
        return sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id))

    def _pool(self, id_: PoolId, slices: list[Slice]) -> Pool | None:
        """None where the node sees only what is being replaced."""
        generation, wanted = slices[0].generation, slices[0].slices_in_pool
        if len(slices) == wanted:
            return _whole_pool(id_, slices, ())
        if any(one.generation > generation for one in self._by_pool[id_]):
            return None
        same = [one for one in self._by_pool[id_] if one.generation == generation]
        if len(same) != wanted:
            return Pool(id_, is_incomplete=True)
        names = {one.name for one in slices}
        return _whole_pool(id_, slices, [one for one in same if one.name not in names])


def _whole_pool(id_: PoolId, slices: list[Slice], beyond: Sequence[Slice]) -> Pool:
    slices = sorted(slices, key=lambda one: one.name)
    devices = [device for one in slices if not one.counter_sets for device in one.devices]
    others = [device for one in beyond for device in one.devices]
    counter_sets = [counter_set for one in slices for counter_set in one.counter_sets]
    why = (
        _named_twice("device", [device.id.device for device in devices])
        or _named_twice("counter set", [name for name, _ in counter_sets])
        or _consumed_but_absent(dict(counter_sets), (*devices, *others))
    )
    if why:
        return Pool(id_, invalid_because=why)
    return Pool(id_, devices=devices, others=others, counter_sets=dict(counter_sets))


def _named_twice(what: str, names: Sequence[str]) -> str:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None) if len(names) > 1 else None
    return "" if twice is None else f"duplicate {what} name {twice}"


def _consumed_but_absent(counter_sets: CounterSets, devices: Iterable[Device]) -> str:
    for device in devices:
        for name, counters in device.consumes.items():
            if name not in counter_sets:
                return f"counter set {name} not found"
            for counter in counters:
                if counter not in counter_sets[name]:
                    return f"counter {counter} not found in counter set {name}"
    return ""
