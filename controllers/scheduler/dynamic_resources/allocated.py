"""Which devices are taken, by the claims that have them: as a whole, or a share of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from controllers.device_claims import results_of
from controllers.scheduler.dynamic_resources.devices import DeviceId
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.quantity import Quantity, parse


@dataclass(slots=True)
class Allocated:
    """`shares` has the amounts that are taken of devices which several claims use."""

    devices: set[DeviceId] = field(default_factory=set)
    shares: dict[DeviceId, dict[str, Quantity]] = field(default_factory=dict)

    def has(self, device: DeviceId) -> bool:
        """All of it, or some."""
        return device in self.devices or device in self.shares


def allocated_by(claims: Iterable[ReadOnlyObject]) -> Allocated:
    """Whoever has a device for administration only looks on, and takes nothing."""
    found = Allocated()
    for claim in claims:
        for result in results_of(claim):
            if result.get("adminAccess"):
                continue
            device = DeviceId(result["driver"], result["pool"], result["device"])
            if result.get("shareID") is None:
                found.devices.add(device)
                continue
            amounts = found.shares.setdefault(device, {})
            for name, text in (result.get("consumedCapacity") or {}).items():
                amount = parse(str(text))
                amounts[name] = amounts[name] + amount if name in amounts else amount
    return found
