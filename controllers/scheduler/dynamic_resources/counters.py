"""Shared counters: devices of one pool that take from the same stock, as the partitions of one card do.

Facts: checkAvailableCounters in structured/internal/incubating/allocator_incubating.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable

from controllers.scheduler.dynamic_resources.devices import Device, DeviceId, PoolId
from controllers.scheduler.dynamic_resources.pools import Pool
from kubeloop.apimachinery.quantity import Quantity

Left = dict[tuple[str, str], Quantity]  # by counter set and counter


class CounterBook:
    """What is left in every pool. A pool is counted once, when one of its devices is first looked at."""

    def __init__(self, is_allocated: Callable[[DeviceId], bool]) -> None:
        self._is_allocated = is_allocated
        self._left: dict[PoolId, Left] = {}

    def take(self, pool: Pool, device: Device) -> bool:
        """Whether there is enough of everything; then it is taken."""
        left = self._of(pool)
        wanted = _wanted(device)
        if any(left[counter] < amount for counter, amount in wanted.items()):
            return False
        for counter, amount in wanted.items():
            left[counter] = left[counter] - amount
        return True

    def give_back(self, pool: Pool, device: Device) -> None:
        left = self._of(pool)
        for counter, amount in _wanted(device).items():
            left[counter] = left[counter] + amount

    def _of(self, pool: Pool) -> Left:
        if pool.id not in self._left:
            self._left[pool.id] = self._counted(pool)
        return self._left[pool.id]

    def _counted(self, pool: Pool) -> Left:
        """What has been taken may be more than there is, where a driver has changed its mind."""
        left = {(name, counter): value for name, all_ in pool.counter_sets.items() for counter, value in all_.items()}
        for device in (*pool.devices, *pool.others):
            if device.consumes and self._is_allocated(device.id):
                for counter, amount in _wanted(device).items():
                    left[counter] = left[counter] - amount
        return left


def _wanted(device: Device) -> Left:
    return {(name, counter): amount for name, all_ in device.consumes.items() for counter, amount in all_.items()}
